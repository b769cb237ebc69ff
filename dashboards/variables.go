package dashboards

import (
	"maps"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/plimsoll-http/plimsoll/dashboards/promql"
	"github.com/plimsoll-http/plimsoll/otelbridge/catalog"
)

// The variables of every dashboard. The origin is chosen by its host: one
// variable can stand for one label only, and the port is another.
const (
	varDatasource = "datasource"
	varJob        = "job"
	varClient     = "client"
	varOrigin     = "origin"
)

// target returns the matchers for the labels of Options.Labels.
func (o Options) target() []promql.Matcher {
	var out []promql.Matcher
	for _, name := range slices.Sorted(maps.Keys(o.Labels)) {
		out = append(out, promql.Target(name, o.Labels[name]))
	}
	return out
}

// panelSource selects what is chosen on the dashboard.
func (o Options) panelSource() promql.Source {
	return promql.Source{
		Match: append(o.target(),
			promql.TargetVariable("job", varJob),
			promql.Variable(catalog.KeyClient, varClient),
			promql.Variable(catalog.KeyAddress, varOrigin)),
		Keep: o.GroupBy,
	}
}

// ruleSource selects everything within Options.Labels. Jobs stay apart.
func (o Options) ruleSource() promql.Source {
	return promql.Source{Match: o.target(), Keep: append([]string{"job"}, o.GroupBy...)}
}

// variables returns the variables, each narrowed by those before it. Calls
// are counted by every client, so their metric knows all values.
func variables(o Options) []cog.Builder[dashboard.VariableModel] {
	source := dashboard.NewDatasourceVariableBuilder(varDatasource).Label("Data source").
		Description("Prometheus that holds the metrics of the clients.").Type("prometheus")
	if o.Datasource != "" {
		source.Current(dashboard.VariableOption{
			Selected: new(true),
			Text:     dashboard.StringOrArrayOfString{String: &o.Datasource},
			Value:    dashboard.StringOrArrayOfString{String: &o.Datasource},
		})
	}
	out := []cog.Builder[dashboard.VariableModel]{source}
	narrowed := promql.Source{Match: o.target()}
	for _, v := range []struct {
		name, label, description, values string
		multi                            bool
		matcher                          promql.Matcher
	}{
		{varJob, "Job", "Service, as Prometheus names it.", "job", false, promql.TargetVariable("job", varJob)},
		{varClient, "Client", "Config.Name of the client.", catalog.PrometheusLabel(catalog.KeyClient), false, promql.Variable(catalog.KeyClient, varClient)},
		{varOrigin, "Origin", "Hosts that the clients call.", catalog.PrometheusLabel(catalog.KeyAddress), true, promql.Variable(catalog.KeyAddress, varOrigin)},
	} {
		query := "label_values(" + narrowed.Count(catalog.CallDuration).Now().String() + ", " + v.values + ")"
		all := dashboard.VariableOption{
			Selected: new(true),
			Text:     dashboard.StringOrArrayOfString{String: new("All")},
			Value:    dashboard.StringOrArrayOfString{String: new("$__all")},
		}
		if v.multi {
			all.Text = dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}}
			all.Value = dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}}
		}
		out = append(out, dashboard.NewQueryVariableBuilder(v.name).Label(v.label).Description(v.description).
			Datasource(dataSource()).Query(dashboard.StringOrMap{String: &query}).Definition(query).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortNaturalAsc).
			Multi(v.multi).IncludeAll(true).AllValue(".*").Current(all))
		narrowed.Match = append(narrowed.Match, v.matcher)
	}
	return out
}
