//go:build !race

package puppet

const race = false
