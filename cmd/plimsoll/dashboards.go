//go:build !nodashboards

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-http/plimsoll/dashboards"
)

func artefactCommands() []command {
	const args = "-out DIR | -check DIR [flags]"
	return []command{
		{name: "dashboards", args: args, about: "write the Grafana dashboards", flags: dashboardsFlags},
		{name: "rules", args: args, about: "write the Prometheus alert and recording rules", flags: rulesFlags},
	}
}

// artefacts is what the commands dashboards and rules have in common.
type artefacts struct {
	what  string
	write func(dir string, o dashboards.Options) error
	check func(dir string, o dashboards.Options) error
}

func dashboardsFlags(f *flagSet) func(context.Context, []string, streams) error {
	return artefacts{"dashboards", dashboards.Write, dashboards.Check}.flags(f)
}

func rulesFlags(f *flagSet) func(context.Context, []string, streams) error {
	return artefacts{"rules", dashboards.WriteRules, dashboards.CheckRules}.flags(f)
}

func (a artefacts) flags(f *flagSet) func(context.Context, []string, streams) error {
	o := dashboards.Options{Labels: map[string]string{}}
	out := f.String("out", "", "`DIR` to write the "+a.what+" and their provisioning into; it is made if absent")
	check := f.String("check", "", "say whether the files in `DIR` are what --out would write; status 1 if not")
	f.StringVar(&o.Datasource, "datasource", "", "`UID` of Grafana's Prometheus data source")
	f.StringVar(&o.TitlePrefix, "title-prefix", "", "`TEXT` before every title, alert group and folder")
	f.Func("label", "label `K=V` of the target that every query selects on; repeatable", func(s string) error {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" || v == "" {
			return errors.New("use key=value, as in cluster=eu-1")
		}
		if _, given := o.Labels[k]; given {
			return fmt.Errorf("label %q is given twice", k)
		}
		o.Labels[k] = v
		return nil
	})
	f.StringVar(&o.RunbookURL, "runbooks", "", "`URL` of the folder of the runbooks, without the last slash")
	f.IntVar(&o.Capacity, "capacity", 0, "capacity of the clients' retry budgets in `TOKENS`, for thresholds; 0: 500")
	f.DurationVar(&o.ScrapeInterval, "scrape-interval", 0, "how often Prometheus scrapes, as in `DURATION` 30s; 0: 15s")
	return func(_ context.Context, _ []string, std streams) error { return a.run(o, *out, *check, std.out) }
}

func (a artefacts) run(o dashboards.Options, out, check string, stdout io.Writer) error {
	if (out == "") == (check == "") {
		return usagef("--out is %q and --check is %q: give one of them", out, check)
	}
	if out != "" {
		if err := a.write(out, o); err != nil {
			return usagef("%v", err)
		}
		fmt.Fprintf(stdout, "%s written to %s\n", a.what, out)
		return nil
	}
	err := a.check(check, o)
	var drift *dashboards.DriftError
	switch {
	case errors.As(err, &drift):
		return err
	case err != nil:
		return usagef("%v", err)
	}
	fmt.Fprintf(stdout, "%s in %s are current\n", a.what, check)
	return nil
}
