package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// tag marks the dashboards of this package in Grafana.
const tag = "plimsoll"

// dataSource is what panels and variables read from: the one that is chosen on
// the dashboard.
func dataSource() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${" + varDatasource + "}")}
}

// json returns the dashboard as Grafana's classic JSON (v1), which file
// provisioning accepts. siblings are the dashboards to link to.
func (b Board) json(o Options, siblings []Board) ([]byte, error) {
	//nolint:staticcheck // the SDK prefers v2, which file provisioning does not take
	builder := dashboard.NewDashboardBuilder(o.TitlePrefix+b.Title).
		Uid(o.uid(b.UID)).
		Description(b.Description).
		Tags([]string{tag}).
		Timezone("browser").
		Readonly().
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Time("now-1h", "now").
		Refresh("30s").
		Variables(variables(o)).
		Annotations([]cog.Builder[dashboard.AnnotationQuery]{stateHistory()})
	for _, s := range siblings {
		if s.UID != b.UID {
			builder.Link(dashboard.NewDashboardLinkBuilder(s.Title).
				Type(dashboard.DashboardLinkTypeLink).Icon("dashboard").Tooltip(s.Description).
				Url("/d/" + o.uid(s.UID)).IncludeVars(true).KeepTime(true))
		}
	}
	built, err := builder.Build()
	if err != nil {
		return nil, fmt.Errorf("dashboards: dashboard %q: %w", b.Title, err)
	}
	for i := range built.Links {
		built.Links[i].Placement = nil // beside the variables, not in a menu
	}
	titles, cells := b.layout()
	for i, row := range b.Rows {
		built.Panels = append(built.Panels, dashboard.PanelOrRowPanel{RowPanel: rowPanel(row, titles[i])})
		for j, p := range row.Panels {
			panel, err := p.model(o, cells[i][j])
			if err != nil {
				return nil, fmt.Errorf("dashboards: dashboard %q, panel %q: %w", b.Title, p.Title, err)
			}
			built.Panels = append(built.Panels, dashboard.PanelOrRowPanel{Panel: panel})
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(built); err != nil {
		return nil, fmt.Errorf("dashboards: dashboard %q: %w", b.Title, err)
	}
	return out.Bytes(), nil
}

// stateHistory is Grafana's own annotation of alerts on the panels that they
// point to.
func stateHistory() *dashboard.AnnotationQueryBuilder {
	return dashboard.NewAnnotationQueryBuilder().Name("Annotations & Alerts").BuiltIn(1).Enable(true).Hide(true).
		IconColor("rgba(0, 211, 255, 1)").Type("dashboard").Datasource(common.DataSourceRef{Type: new("grafana"), Uid: new("-- Grafana --")})
}

func rowPanel(row Row, c cell) *dashboard.RowPanel {
	panel := dashboard.NewRowPanel()
	panel.Id, panel.Title, panel.GridPos = uint32(c.id), &row.Title, c.grid()
	return panel
}

func (c cell) grid() *dashboard.GridPos {
	return &dashboard.GridPos{X: uint32(c.x), Y: uint32(c.y), W: uint32(c.w), H: uint32(c.h)}
}

// model returns the panel as the SDK has it. What depends on the kind comes
// from the kind's builder, the rest is the same for all.
func (p Panel) model(o Options, c cell) (*dashboard.Panel, error) {
	panel, err := p.ofKind()
	if err != nil {
		return nil, err
	}
	source := dataSource()
	panel.Id, panel.Title, panel.Description = new(uint32(c.id)), &p.Title, &p.Description
	panel.GridPos, panel.Datasource = c.grid(), &source
	for i, q := range p.Queries {
		if err := q.Expr.Err(); err != nil {
			return nil, err
		}
		target, err := prometheus.NewDataqueryBuilder().RefId(refID(i)).Expr(q.Expr.String()).
			LegendFormat(q.Legend).Datasource(source).Range().Build()
		if err != nil {
			return nil, err
		}
		panel.Targets = append(panel.Targets, target)
	}
	panel.Links = []dashboard.DashboardLink{{
		Title: "Runbook", Type: dashboard.DashboardLinkTypeLink, Icon: "doc", Tooltip: "What it means and what to do",
		Url: new(o.runbook(p.Runbook)), Tags: []string{}, TargetBlank: true,
	}}
	defaults := &panel.FieldConfig.Defaults
	defaults.Unit, defaults.Min, defaults.Max = &p.Unit, p.Min, p.Max
	defaults.Thresholds = p.thresholds()
	if p.NoValue != "" {
		defaults.NoValue = &p.NoValue
	}
	mode := dashboard.FieldColorModeIdPaletteClassic
	if p.Kind != TimeSeries {
		mode = dashboard.FieldColorModeIdThresholds
	}
	defaults.Color = &dashboard.FieldColor{Mode: mode}
	if len(p.Values) > 0 {
		defaults.Mappings = []dashboard.ValueMapping{{ValueMap: p.valueMap()}}
	}
	return panel, nil
}

// refID names a panel's query: A to Z, then A1.
func refID(i int) string {
	name := string(rune('A' + i%26))
	if i >= 26 {
		name += strconv.Itoa(i / 26)
	}
	return name
}

func (p Panel) ofKind() (*dashboard.Panel, error) {
	tooltip := common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)
	legend := common.NewVizLegendOptionsBuilder().ShowLegend(true).Placement(common.LegendPlacementBottom).DisplayMode(common.LegendDisplayModeList)
	var builder cog.Builder[dashboard.Panel]
	switch p.Kind {
	case TimeSeries:
		b := timeseries.NewPanelBuilder().Legend(legend).Tooltip(tooltip).
			LineWidth(1).FillOpacity(10).ShowPoints(common.VisibilityModeNever).AxisWidth(80)
		if len(p.Steps) > 0 {
			b.ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
		}
		if p.Stacked {
			b.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A")).FillOpacity(40)
		}
		builder = b
	case Stat:
		builder = stat.NewPanelBuilder().GraphMode(common.BigValueGraphModeArea).ColorMode(common.BigValueColorModeValue).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}).Values(false))
	case StateTimeline:
		builder = statetimeline.NewPanelBuilder().Legend(legend).Tooltip(tooltip).
			ShowValue(common.VisibilityModeNever).MergeValues(true).FillOpacity(80).LineWidth(0)
	default:
		return nil, fmt.Errorf("its kind is %v: use TimeSeries, Stat or StateTimeline", p.Kind)
	}
	panel, err := builder.Build()
	if err != nil {
		return nil, err
	}
	if panel.FieldConfig == nil {
		panel.FieldConfig = dashboard.NewFieldConfigSource()
	}
	return &panel, nil
}

func (p Panel) thresholds() *dashboard.ThresholdsConfig {
	out := &dashboard.ThresholdsConfig{
		Mode:  dashboard.ThresholdsModeAbsolute,
		Steps: []dashboard.Threshold{{Color: string(p.base())}},
	}
	for _, s := range p.Steps {
		out.Steps = append(out.Steps, dashboard.Threshold{Value: &s.From, Color: string(s.Color)})
	}
	return out
}

func (p Panel) valueMap() *dashboard.ValueMap {
	out := dashboard.NewValueMap()
	for i, v := range p.Values {
		out.Options[strconv.FormatFloat(v.Value, 'g', -1, 64)] = dashboard.ValueMappingResult{
			Text: &v.Text, Color: new(string(v.Color)), Index: new(int32(i)),
		}
	}
	return out
}
