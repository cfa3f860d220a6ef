// Command measure counts the product's lines of code, and how much air its function bodies have.
//
//	measure [-root DIR] lines [-limit N] [FOLDER…]
//	measure [-root DIR] air [-v] [-tests] [FOLDER…]
//	measure [-root DIR] names
//
// Without folders it measures the product: every package of the module except tests, test kits,
// measurement and deployment. With folders it measures those and all folders below them.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// run runs the program.
func run(args []string, out io.Writer) error {
	top := flag.NewFlagSet("measure", flag.ContinueOnError)
	root := top.String("root", ".", "the module's `DIR`")
	if err := top.Parse(args); err != nil {
		return err
	}

	switch top.Arg(0) {
	case "lines":
		return runLines(*root, top.Args()[1:], out)
	case "air":
		return runAir(*root, top.Args()[1:], out)
	case "names":
		return runNames(*root, out)
	}
	return fmt.Errorf("cannot measure %q: want lines, air or names", top.Arg(0))
}

func runLines(root string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("lines", flag.ContinueOnError)
	limit := flags.Int("limit", 0, "fail above `N` lines of code")
	if err := flags.Parse(args); err != nil {
		return err
	}

	files, err := readFiles(root, flags.Args(), false)
	if err != nil {
		return err
	}

	// The figures are printed before the limit is checked, so that a failure shows its cause.
	total := printLines(files, out)
	if flags.NArg() == 0 {
		printClients(root, out)
	}
	if *limit > 0 && total > *limit {
		return fmt.Errorf("cannot allow %d lines of code: the limit is %d", total, *limit)
	}
	return nil
}

func runAir(root string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("air", flag.ContinueOnError)
	verbose := flags.Bool("v", false, "a row a package, and more of the longest functions")
	tests := flags.Bool("tests", false, "measure the tests instead")
	if err := flags.Parse(args); err != nil {
		return err
	}

	files, err := readFiles(root, flags.Args(), *tests)
	if err != nil {
		return err
	}

	page := bufio.NewWriter(out)
	printAir(files, *verbose, page)
	return page.Flush()
}
