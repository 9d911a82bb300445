package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// module is what a binary is built of: a Go module, or Go's own packages.
type module struct {
	path, version string
	licence       string // an SPDX identifier; NOASSERTION where the text is not a known one
	text          []byte
}

// modulesOf reads which modules went into a binary, and finds their licences in the module cache.
func modulesOf(binary, source string) ([]module, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("modules of %s: %w", binary, err)
	}
	arguments := []string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s: a release has what go.mod requires", dep.Path, dep.Replace.Path)
		}
		arguments = append(arguments, dep.Path)
	}
	folders := map[string]string{}
	if len(info.Deps) > 0 {
		cmd := exec.Command("go", arguments...)
		cmd.Dir, cmd.Stderr = source, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list -m: %w", err)
		}
		for line := range strings.Lines(string(out)) {
			path, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
			folders[path] = folder
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	folders["stdlib"] = strings.TrimSpace(string(root))
	modules := []module{{path: "stdlib", version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, dep := range info.Deps {
		modules = append(modules, module{path: dep.Path, version: dep.Version})
	}
	for i := range modules {
		m := &modules[i]
		if m.text, err = licenceIn(folders[m.path]); err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
		m.licence = identify(m.text)
	}
	return modules, nil
}

// licenceIn returns the licence texts of a module, which must travel with the binary.
func licenceIn(folder string) ([]byte, error) {
	var text []byte
	for _, name := range []string{"LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "COPYING", "NOTICE"} {
		found, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			text = append(text, found...)
		}
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("no licence in %q", folder)
	}
	return text, nil
}

// identify names a licence by the sentences that only it has.
func identify(text []byte) string {
	words := strings.Join(strings.Fields(string(text)), " ")
	for _, known := range []struct{ sentence, name string }{
		{"Apache License Version 2.0", "Apache-2.0"},
		{"Mozilla Public License Version 2.0", "MPL-2.0"},
		{"may be used to endorse or promote products", "BSD-3-Clause"},
		{"Redistribution and use in source and binary forms", "BSD-2-Clause"},
		{"Permission is hereby granted, free of charge", "MIT"},
		{"Permission to use, copy, modify, and/or distribute this software", "ISC"},
	} {
		if strings.Contains(words, known.sentence) {
			return known.name
		}
	}
	return "NOASSERTION"
}

// notices returns the licences of all modules as one text.
func notices(modules []module) []byte {
	var b bytes.Buffer
	b.WriteString("pawl contains the following packages, under these licences.\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "\n%s\n%s %s\n\n%s", strings.Repeat("=", 80), m.path, m.version, m.text)
	}
	return b.Bytes()
}

type spdxPackage struct {
	ID        string          `json:"SPDXID"`
	Name      string          `json:"name"`
	Version   string          `json:"versionInfo"`
	FileName  string          `json:"packageFileName,omitempty"`
	Purpose   string          `json:"primaryPackagePurpose"`
	Location  string          `json:"downloadLocation"`
	Analyzed  bool            `json:"filesAnalyzed"`
	Checksums []spdxChecksum  `json:"checksums,omitempty"`
	Concluded string          `json:"licenseConcluded"`
	Declared  string          `json:"licenseDeclared"`
	Copyright string          `json:"copyrightText"`
	Refs      []spdxReference `json:"externalRefs"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxReference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelation struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// sbom returns what the binary is made of, as an SPDX 2.3 document.
func (r *release) sbom() ([]byte, error) {
	at := slices.IndexFunc(r.files, func(f file) bool { return f.name == "pawl" })
	sum := fmt.Sprintf("%x", sha256.Sum256(r.files[at].data))
	packages := []spdxPackage{{
		ID: "SPDXRef-pawl", Name: "pawl", Version: r.version, FileName: "pawl-linux-" + r.arch, Purpose: "APPLICATION", Location: "NOASSERTION",
		Checksums: []spdxChecksum{{"SHA256", sum}}, Concluded: "Apache-2.0", Declared: "Apache-2.0", Copyright: "NOASSERTION",
		Refs: []spdxReference{{"PACKAGE-MANAGER", "purl", fmt.Sprintf("pkg:generic/pawl@%s?arch=%s&os=linux", r.version, r.arch)}},
	}}
	relations := []spdxRelation{{"SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-pawl"}}
	for _, m := range r.modules {
		p := spdxPackage{
			ID: "SPDXRef-go-" + notInID.ReplaceAllString(m.path, "-"), Name: m.path, Version: m.version, Purpose: "LIBRARY",
			Location: "https://proxy.golang.org/" + escaped(m.path) + "/@v/" + escaped(m.version) + ".zip", Concluded: "NOASSERTION", Declared: m.licence, Copyright: "NOASSERTION",
			Refs: []spdxReference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.path + "@" + m.version}},
		}
		if m.path == "stdlib" {
			p.Location = "https://go.dev/dl/go" + m.version + ".src.tar.gz"
		}
		packages = append(packages, p)
		relations = append(relations, spdxRelation{"SPDXRef-pawl", "DEPENDS_ON", p.ID})
	}
	document, err := json.MarshalIndent(map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": r.name(),
		"documentNamespace": "https://spdx.org/spdxdocs/" + r.name() + "-" + sum,
		"creationInfo":      map[string]any{"created": r.when.Format(time.RFC3339), "creators": []string{"Tool: pawl-tools-dist"}},
		"packages":          packages, "relationships": relations,
	}, "", "  ")
	return append(document, '\n'), err
}

// escaped writes a path as Go's module proxy does: capitals have a mark, for file systems without them.
func escaped(path string) string {
	return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(path, func(c string) string { return "!" + strings.ToLower(c) })
}
