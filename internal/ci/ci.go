// Package ci brings pawl into pull requests. Verify judges a report that another job wrote.
package ci
