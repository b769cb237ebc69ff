package otelbridge

import "runtime/debug"

const modulePath = "github.com/plimsoll-http/plimsoll"

// Version returns the version of the module that is linked into the program,
// which all spans and metrics carry as the version of their scope; "(devel)"
// where the build does not tell.
func Version() string { return linked }

var linked = moduleVersion(debug.ReadBuildInfo())

func moduleVersion(info *debug.BuildInfo, ok bool) string {
	if ok {
		for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
			if m.Path == modulePath && m.Version != "" {
				if m.Replace != nil && m.Replace.Version != "" {
					return m.Replace.Version
				}
				return m.Version
			}
		}
	}
	return "(devel)"
}
