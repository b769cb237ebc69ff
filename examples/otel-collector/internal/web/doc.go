// Package web is the demonstration's page and what it asks: the generated
// Grafana dashboards as they are, Prometheus's HTTP API, the latest traces, and
// the controls.
//
// The page is drawn by uPlot, which lies in page/vendor with its licence; it
// loads nothing from elsewhere. Whoever can reach the server can make trouble,
// so it listens on loopback alone ([Listen]), answers only requests whose Host
// is its own address or localhost, so that no foreign name can be pointed at
// it, and takes controls by POST with an Origin of its own. Other sites' pages
// may link here and no more (Sec-Fetch-Site), requests are at most 16 KiB long,
// and pages may run and fetch what comes from here and nothing else
// (Content-Security-Policy). While the past is made, controls get 409.
//
//	GET  /d/{uid}                 the page with that dashboard
//	GET  /api/dashboards          the dashboards' UIDs and titles
//	GET  /api/dashboards/{uid}    a dashboard, byte for byte as generated
//	GET  /api/v1/...              Prometheus's API (package promdb)
//	GET  /api/state               what is going on
//	GET  /api/traces?eventful=1   the latest traces
//	POST /control/trouble/{name}, /control/accounting/{name}
package web
