// SPDX-License-Identifier: Apache-2.0
// Functions of the kinds that Go has; compared with its own symbols once these are stripped (test_symbol_gopclntab.c).
package main

import "fmt"

type T struct{ n int }

//go:noinline
func (t *T) add(i int) { t.n += i }

//go:noinline
func Max[E int | float64](a, b E) E {
	if a > b {
		return a
	}
	return b
}
func main() {
	t := &T{}
	for i := 0; i < 1000; i++ {
		t.add(Max(i, 7))
	}
	fmt.Println(t.n, Max(1.5, 2.5))
}
