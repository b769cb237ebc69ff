package dashboards_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll-http/plimsoll/dashboards"
)

// rendered is what a test reads of a dashboard's JSON.
type rendered struct {
	UID, Title    string
	SchemaVersion int
	Description   string
	Tags          []string
	GraphTooltip  int
	Links         []link
	Templating    struct{ List []variable }
	Panels        []panel
}

type link struct {
	Title, URL            string
	IncludeVars, KeepTime bool
}

type source struct{ Type, UID string }

type variable struct {
	Name, Type string
	Query      any
	Multi      bool
	IncludeAll bool
	AllValue   string
	Datasource source
	Current    struct{ Text, Value any }
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               source
	Targets                  []target
	Links                    []link
	Options                  struct {
		Legend        *struct{ ShowLegend bool }
		ReduceOptions *struct{ Calcs []string }
	}
	FieldConfig struct {
		Defaults struct {
			Unit       string
			Mappings   []any
			Thresholds struct{ Steps []struct{ Value *float64 } }
		}
	}
}

type target struct {
	RefID, Expr, LegendFormat string
	Datasource                source
}

func standard(t *testing.T, o dashboards.Options) *dashboards.Set {
	t.Helper()
	set, err := dashboards.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// boards renders the dashboards of set and reads them back.
func boards(t *testing.T, set *dashboards.Set) []rendered {
	t.Helper()
	files, err := set.DashboardFiles()
	if err != nil {
		t.Fatal(err)
	}
	var out []rendered
	for _, f := range files {
		if !strings.HasSuffix(f.Name, ".json") {
			continue
		}
		var b rendered
		if err := json.Unmarshal(f.Data, &b); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if want := b.UID + ".json"; f.Name != want {
			t.Errorf("the file of %s is called %s", b.UID, f.Name)
		}
		out = append(out, b)
	}
	return out
}

// file returns the contents of the file of that name.
func file(t *testing.T, files []dashboards.File, name string) string {
	t.Helper()
	for _, f := range files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	t.Fatalf("there is no file %s", name)
	return ""
}

func ruleFiles(t *testing.T, set *dashboards.Set) []dashboards.File {
	t.Helper()
	files, err := set.RuleFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}
