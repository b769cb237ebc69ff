package dashboards

import (
	"path"

	"github.com/plimsoll-http/plimsoll/dashboards/promql"
)

// Set is a set of dashboards and rules. Change or extend Boards and Groups
// before writing them. A Set is not safe for use by several goroutines while
// it is changed.
type Set struct {
	Boards  []Board // the dashboards
	Groups  []Group // the rules
	options Options // complete: no field is zero that has a default
}

// New returns the standard dashboards and rules, adapted by o. Its error names
// the field that makes no sense.
func New(o Options) (*Set, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Set{
		Boards:  newPanels(o.panelSource(), o).boards(),
		Groups:  newRules(o.ruleSource(), o).groups(),
		options: o,
	}, nil
}

// Options returns the set's options with the defaults filled in.
func (s *Set) Options() Options { return s.options }

// Panels returns the source for the queries of further panels: it selects what
// is chosen on the dashboard.
func (s *Set) Panels() promql.Source { return s.options.panelSource() }

// Rules returns the source for the expressions of further rules.
func (s *Set) Rules() promql.Source { return s.options.ruleSource() }

// Board returns the dashboard of that UID (without a title prefix), or nil.
func (s *Set) Board(uid string) *Board {
	for i := range s.Boards {
		if s.Boards[i].UID == uid {
			return &s.Boards[i]
		}
	}
	return nil
}

// Alert returns the alert of that name, or nil.
func (s *Set) Alert(name string) *Alert {
	for _, g := range s.Groups {
		for i := range g.Alerts {
			if g.Alerts[i].Name == name {
				return &g.Alerts[i]
			}
		}
	}
	return nil
}

// File is a rendered file. Its name is relative, with slashes.
type File struct {
	Name string // below the folder that is written to
	Data []byte // the rendered bytes
}

// DashboardFiles returns the dashboards, a JSON file each, and the files with
// which Grafana provisions them and their data source, or what [Set.Lint]
// finds. The same set always gives the same bytes.
func (s *Set) DashboardFiles() ([]File, error) {
	if err := s.Lint(); err != nil {
		return nil, err
	}
	var out []File
	for _, b := range s.Boards {
		data, err := b.json(s.options, s.Boards)
		if err != nil {
			return nil, err
		}
		out = append(out, File{s.options.uid(b.UID) + ".json", data})
	}
	return append(out,
		File{s.provisioning("dashboards"), provisionedDashboards(s.options)},
		File{s.provisioning("datasources"), provisionedDatasource(s.options)},
	), nil
}

// RuleFiles returns the Prometheus rule files, one with alerts and one with
// recording rules, and the same alerts for Grafana's provisioning, or what
// [Set.Lint] finds. The same set always gives the same bytes.
func (s *Set) RuleFiles() ([]File, error) {
	if err := s.Lint(); err != nil {
		return nil, err
	}
	return []File{
		{s.options.uid("plimsoll-alerts") + ".yaml", ruleFile(s.options, s.Groups, true)},
		{s.options.uid("plimsoll-recordings") + ".yaml", ruleFile(s.options, s.Groups, false)},
		{s.provisioning("alerting"), provisionedAlerts(s.options, s.Groups, s.Boards)},
	}, nil
}

func (s *Set) provisioning(kind string) string {
	return path.Join("provisioning", kind, s.options.uid("plimsoll")+".yaml")
}
