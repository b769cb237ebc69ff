package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
)

// harness is the file beside Go's tests. pooled gives an http.Client a pool
// over its transport; base is the reverse, for tests that reach for the
// transport's fields: the pool reads them live.
const harness = `package http_test

import (
	"maps"
	"net/http"
	"net/http/internal/plimsoll/pool"
	"slices"
	"strings"
	"sync"
	"testing"
)

var pools sync.Map // *http.Transport to *poolOver

type poolOver struct {
	*pool.Transport
	base *http.Transport
}

func pooled(t testing.TB, c *http.Client) {
	tr := c.Transport.(*http.Transport)
	p, err := pool.New(pool.Config{Base: tr})
	if err != nil {
		t.Fatal(err)
	}
	over := &poolOver{p, tr}
	pools.Store(tr, over)
	c.Transport = over
	t.Cleanup(func() {
		p.Close()
		pools.Delete(tr)
	})
}

func base(rt http.RoundTripper) *http.Transport {
	if over, ok := rt.(*poolOver); ok {
		return over.base
	}
	return rt.(*http.Transport)
}

// over returns the pool over tr, or nil for a transport that has none.
func over(tr *http.Transport) *poolOver {
	p, _ := pools.Load(tr)
	o, _ := p.(*poolOver)
	return o
}

// via returns the pool over rt if there is one.
func via(rt http.RoundTripper) http.RoundTripper {
	if tr, ok := rt.(*http.Transport); ok {
		if o := over(tr); o != nil {
			return o
		}
	}
	return rt
}

func roundTrip(rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	return via(rt).RoundTrip(req)
}

// idleConns tells what http.Transport's idle map would hold.
func idleConns(tr *http.Transport) map[string]int {
	idle := map[string]int{}
	for origin, s := range over(tr).Stats().Origins { // scheme://host:port
		if s.Idle > 0 {
			idle["|"+strings.Replace(origin, "://", "|", 1)] = s.Idle
		}
	}
	return idle
}

func idleKeys(tr *http.Transport) []string {
	if over(tr) == nil {
		return tr.IdleConnKeysForTesting()
	}
	return slices.Sorted(maps.Keys(idleConns(tr)))
}

func idleCount(tr *http.Transport, scheme, addr string) int {
	if over(tr) == nil {
		return tr.IdleConnCountForTesting(scheme, addr)
	}
	return idleConns(tr)["|"+scheme+"|"+addr]
}

func idleKeyCount(tr *http.Transport) int {
	if over(tr) == nil {
		return tr.IdleConnKeyCountForTesting()
	}
	return len(idleConns(tr))
}

func pending(tr *http.Transport) int {
	if over(tr) == nil {
		return tr.NumPendingRequestsForTesting()
	}
	return over(tr).Stats().Requests
}

func closeIdle(x interface{ CloseIdleConnections() }) {
	x.CloseIdleConnections()
	if tr, ok := x.(*http.Transport); ok {
		if o := over(tr); o != nil {
			o.CloseIdleConnections()
		}
	}
}
`

// rewrite returns a test file of Go with the pool handed out by its harness,
// and the names of the harness tests in it.
func rewrite(path string) (src []byte, tests []string, err error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
	if err != nil {
		return nil, nil, err
	}
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		if fn.Name.Name == "newClientServerTest" {
			if err := handOutPool(fn); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		if strings.HasPrefix(fn.Name.Name, "Test") && callsAny(fn.Body, "run", "runSynctest") {
			tests = append(tests, fn.Name.Name)
		}
	}
	ast.Inspect(file, reachThrough)
	var b bytes.Buffer
	if err := format.Node(&b, fset, file); err != nil {
		return nil, nil, err
	}
	return b.Bytes(), tests, nil
}

// handOutPool puts pooled(t, cst.c) before the last statement of
// newClientServerTest, its return.
func handOutPool(fn *ast.FuncDecl) error {
	last := len(fn.Body.List) - 1
	if _, ok := fn.Body.List[last].(*ast.ReturnStmt); !ok {
		return fmt.Errorf("newClientServerTest does not end in a return")
	}
	call := &ast.ExprStmt{X: &ast.CallExpr{
		Fun:  ast.NewIdent("pooled"),
		Args: []ast.Expr{ast.NewIdent("t"), &ast.SelectorExpr{X: ast.NewIdent("cst"), Sel: ast.NewIdent("c")}},
	}}
	fn.Body.List = append(fn.Body.List[:last:last], call, fn.Body.List[last])
	return nil
}

// methods are those of http.Transport that must reach the pool over it, with
// the functions that are called in their place.
var methods = map[string]string{
	"CloseIdleConnections":         "closeIdle",
	"IdleConnKeysForTesting":       "idleKeys",
	"IdleConnCountForTesting":      "idleCount",
	"IdleConnKeyCountForTesting":   "idleKeyCount",
	"NumPendingRequestsForTesting": "pending",
	"RoundTrip":                    "roundTrip",
}

// reachThrough turns x.Transport.(*Transport) into base(x.Transport), and
// x.Method() of methods into function(x), and Client{Transport: x} into
// Client{Transport: via(x)}.
func reachThrough(n ast.Node) bool {
	replace := func(e *ast.Expr) {
		switch x := (*e).(type) {
		case *ast.TypeAssertExpr:
			sel, ok := x.X.(*ast.SelectorExpr)
			star, isStar := x.Type.(*ast.StarExpr)
			if !ok || sel.Sel.Name != "Transport" || !isStar {
				return
			}
			if id, ok := star.X.(*ast.Ident); ok && id.Name == "Transport" {
				*e = &ast.CallExpr{Fun: ast.NewIdent("base"), Args: []ast.Expr{sel}}
			}
		case *ast.CallExpr:
			if sel, ok := x.Fun.(*ast.SelectorExpr); ok && methods[sel.Sel.Name] != "" {
				x.Fun, x.Args = ast.NewIdent(methods[sel.Sel.Name]), append([]ast.Expr{sel.X}, x.Args...)
			}
		}
	}
	switch x := n.(type) {
	case *ast.AssignStmt:
		if len(x.Lhs) == len(x.Rhs) { // without ", ok"
			for i := range x.Rhs {
				replace(&x.Rhs[i])
			}
		}
	case *ast.CompositeLit:
		id, ok := x.Type.(*ast.Ident)
		if !ok || id.Name != "Client" {
			break
		}
		for _, elt := range x.Elts {
			kv := elt.(*ast.KeyValueExpr)
			if kv.Key.(*ast.Ident).Name == "Transport" {
				kv.Value = &ast.CallExpr{Fun: ast.NewIdent("via"), Args: []ast.Expr{kv.Value}}
			}
		}
	case *ast.BinaryExpr:
		replace(&x.X)
		replace(&x.Y)
	case *ast.SelectorExpr:
		replace(&x.X)
	case *ast.CallExpr:
		for i := range x.Args {
			replace(&x.Args[i])
		}
	case *ast.ExprStmt:
		replace(&x.X)
	case *ast.DeferStmt:
		e := ast.Expr(x.Call)
		replace(&e)
		x.Call = e.(*ast.CallExpr)
	}
	return true
}

func callsAny(body *ast.BlockStmt, names ...string) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok {
				for _, name := range names {
					found = found || id.Name == name
				}
			}
		}
		return !found
	})
	return found
}
