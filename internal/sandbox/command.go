package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// complete fills in the defaults of a command.
func (c *Command) complete() error {
	if !filepath.IsAbs(c.Path) {
		return fmt.Errorf("%q is not an absolute path", c.Path)
	}
	for _, list := range [][]string{c.Policy.Read, c.Policy.List, c.Policy.Write, c.Policy.Devices} {
		for _, path := range list {
			if !filepath.IsAbs(path) {
				return fmt.Errorf("%q in the policy is not an absolute path", path)
			}
		}
	}
	if c.Policy.Loopback && !c.Policy.Processes {
		return errors.New("the policy gives a network to a program that may have no other processes")
	}
	if len(c.Args) == 0 {
		c.Args = []string{c.Path}
	}
	if c.Dir == "" {
		c.Dir = "/"
		if len(c.Policy.Write) > 0 {
			c.Dir = c.Policy.Write[0]
		}
	}
	if c.Env == nil {
		c.Env = []string{} // to package os, nil means its own
	}
	return nil
}

// files returns the program's descriptors in order. The second is to be closed
// once they have been passed on.
func (c *Command) files() ([]*os.File, *os.File, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	files := []*os.File{c.Stdin, c.Stdout, c.Stderr}
	for i, f := range files {
		if f == nil {
			files[i] = null
		}
	}
	return append(files, c.ExtraFiles...), null, nil
}
