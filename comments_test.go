package plimsoll_test

import (
	"go/ast"
	"go/doc"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A named is an exported identifier of a public package with what is said about
// it.
type named struct {
	name    string // Type.Member for members
	comment string
	group   string // said above a group of constants or variables
}

// exported returns p's exported identifiers: packages, functions, types, their
// methods, fields and interface methods, constants and variables.
func (p publicPackage) exported() []named {
	found := []named{{name: "package " + p.doc.Name, comment: p.doc.Doc}}
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			for _, spec := range v.Decl.Specs {
				s := spec.(*ast.ValueSpec)
				for _, n := range s.Names {
					if n.IsExported() {
						found = append(found, named{n.Name, s.Doc.Text() + s.Comment.Text(), v.Doc})
					}
				}
			}
		}
	}
	values(p.doc.Consts)
	values(p.doc.Vars)
	for _, f := range p.doc.Funcs {
		found = append(found, named{f.Name, f.Doc, ""})
	}
	for _, t := range p.doc.Types {
		found = append(found, named{t.Name, t.Doc, ""})
		values(t.Consts)
		values(t.Vars)
		for _, f := range t.Funcs {
			found = append(found, named{f.Name, f.Doc, ""})
		}
		for _, m := range t.Methods {
			found = append(found, named{t.Name + "." + m.Name, m.Doc, ""})
		}
		for _, spec := range t.Decl.Specs {
			found = append(found, members(t.Name, spec.(*ast.TypeSpec).Type)...)
		}
	}
	return found
}

// members returns the exported fields of a struct and methods of an interface.
// An embedded type has its comment where it is declared. Fields in one block,
// without an empty line between, may share the comment above the first.
func members(of string, e ast.Expr) []named {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	var found []named
	for _, f := range list.List {
		for _, n := range f.Names {
			if n.IsExported() {
				found = append(found, named{of + "." + n.Name, f.Doc.Text() + f.Comment.Text(), ""})
			}
		}
	}
	return found
}

// filler says nothing by itself.
var filler = strings.Fields("a an the is are it its be been has have of for to and or in on as at by with from this that these which what " +
	"returns return gets get sets set type struct function method value field implements")

// says returns how many words of a comment are neither the identifier's own nor
// filler.
func says(name, comment string) int {
	own := words(name)
	n := 0
	for _, w := range words(comment) {
		same := func(o string) bool {
			return w == o || strings.HasPrefix(w, o) && len(w) <= len(o)+2 || strings.HasPrefix(o, w) && len(o) <= len(w)+2
		}
		if !slices.Contains(filler, w) && !slices.ContainsFunc(own, same) {
			n++
		}
	}
	return n
}

// words splits at everything but letters and digits, and before capitals.
func words(text string) []string {
	var found []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			found = append(found, strings.ToLower(string(word)))
			word = nil
		}
	}
	previous := ' '
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
		} else {
			if unicode.IsUpper(r) && !unicode.IsUpper(previous) {
				flush()
			}
			word = append(word, r)
		}
		previous = r
	}
	flush()
	return found
}

func TestEveryExportedIdentifierHasACommentThatSaysMoreThanItsName(t *testing.T) {
	seen := 0
	for _, p := range publicPackages(t) {
		for _, n := range p.exported() {
			seen++
			name := n.name[strings.LastIndex(n.name, ".")+1:]
			switch {
			case n.comment == "" && n.group == "":
				t.Errorf("%s: %s has no comment", p.folder, n.name)
			case says(name, n.comment)+says(name, n.group) < 1:
				t.Errorf("%s: the comment of %s says no more than its name: %q", p.folder, n.name, strings.TrimSpace(n.comment))
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d identifiers found", seen)
	}
}

func TestAnEmptyCommentIsFound(t *testing.T) {
	for _, tt := range []struct {
		name, comment string
		more          bool
	}{
		{"Close", "Close closes.", false},
		{"RetryArmed", "RetryArmed is the retry that is armed.", false},
		{"Timeout", "Timeout reports true.", true},
		{"String", "String returns the string.", false},
		{"Unwrap", "Unwrap returns the cause.", true},
		{"Level", "after", true},
	} {
		if got := says(tt.name, tt.comment) > 0; got != tt.more {
			t.Errorf("%s, %q: says more: %v, words %q", tt.name, tt.comment, got, words(tt.comment))
		}
	}
}
