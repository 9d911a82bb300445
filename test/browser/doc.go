// Package browser opens the dashboard in Chromium, as people do: every page, wide and narrow, light and
// dark, by pointer and by keyboard. It is a module of its own, so that pawl does not depend on what drives
// a browser. PAWL_BIN names the binary and PAWL_AXE axe-core; `make browser` sets both.
package browser
