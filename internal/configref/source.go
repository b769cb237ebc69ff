package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll-http/plimsoll/budget"
)

// source is one package as go doc shows it.
type source struct {
	folder string
	fset   *token.FileSet
	doc    *doc.Package
}

func load(root, folder string) (*source, error) {
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		return nil, err
	}
	s := &source{folder: folder, fset: token.NewFileSet()}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(s.fset, name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	s.doc, err = doc.NewFromFiles(s.fset, files, folder)
	return s, err
}

// structure writes the struct's comment and a table of its fields.
func (s *source) structure(b *strings.Builder, name string) error {
	for _, t := range s.doc.Types {
		if t.Name != name {
			continue
		}
		fmt.Fprintf(b, "\n%s\n\n", paragraphs(t.Doc))
		fields := t.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields.List
		if s.folder == "budget" {
			return s.tokens(b, fields)
		}
		b.WriteString("| field | type | zero value | meaning |\n| --- | --- | --- | --- |\n")
		var missing []error
		for _, f := range fields {
			zero, meaning := split(comment(f))
			kind := s.source(f.Type)
			if zero == "" && kind == "bool" {
				zero = "false"
			}
			if zero == "" && strings.Contains(meaning, "must be set") {
				zero = "an error"
			}
			for _, n := range f.Names {
				if zero == "" || meaning == "" {
					missing = append(missing, fmt.Errorf("the comment of field %s does not say what it means, or what its zero value means", n.Name))
				}
				fmt.Fprintf(b, "| `%s` | `%s` | %s | %s |\n", n.Name, strings.ReplaceAll(kind, "|", `\|`), zero, meaning)
			}
		}
		return errors.Join(missing...)
	}
	return fmt.Errorf("package %s has no such type", s.folder)
}

// tokens writes the fields of budget.Config with the values of its profiles,
// since it is literal.
func (s *source) tokens(b *strings.Builder, fields []*ast.Field) error {
	profiles := []budget.Config{budget.Default(), budget.AWS2026(), budget.Legacy()}
	b.WriteString("| field | type | `Default()` | `AWS2026()` | `Legacy()` | meaning |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, f := range fields {
		name := f.Names[0].Name
		fmt.Fprintf(b, "| `%s` | `%s` |", name, s.source(f.Type))
		for _, p := range profiles {
			value, ok := tokensOf(p)[name]
			if !ok {
				return fmt.Errorf("field %s is unknown here: add it to tokensOf", name)
			}
			fmt.Fprintf(b, " %d |", value)
		}
		fmt.Fprintf(b, " %s |\n", line(comment(f)))
	}
	return nil
}

func tokensOf(c budget.Config) map[string]int {
	return map[string]int{
		"Capacity": c.Capacity, "Cost": c.Cost, "ThrottleCost": c.ThrottleCost, "FailureCost": c.FailureCost,
		"SuccessCost": c.SuccessCost, "Replenish": c.Replenish, "MaxPartitions": c.MaxPartitions,
	}
}

// functions writes the comments of functions and methods.
func (s *source) functions(b *strings.Builder, names []string) error {
	found := map[string]*doc.Func{}
	for _, f := range s.doc.Funcs {
		found[f.Name] = f
	}
	for _, t := range s.doc.Types {
		for _, f := range t.Funcs {
			found[f.Name] = f
		}
		for _, m := range t.Methods {
			found[t.Name+"."+m.Name] = m
		}
	}
	b.WriteString("\n| function | what it does |\n| --- | --- |\n")
	for _, name := range names {
		f := found[name]
		if f == nil {
			return fmt.Errorf("package %s has no function %s", s.folder, name)
		}
		_, short, isMethod := strings.Cut(name, ".")
		if !isMethod {
			short = s.doc.Name + "." + name
		}
		signature := strings.TrimPrefix(s.source(f.Decl.Type), "func")
		fmt.Fprintf(b, "| `%s%s` | %s |\n", short, signature, line(f.Doc))
	}
	return nil
}

// source returns an expression as it stands in the code, on one line.
func (s *source) source(e ast.Expr) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, s.fset, e); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// comment is what stands above a field, or else behind it.
func comment(f *ast.Field) string {
	if text := f.Doc.Text(); text != "" {
		return text
	}
	return f.Comment.Text()
}
