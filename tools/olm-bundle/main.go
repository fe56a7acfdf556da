// Command olm-bundle loads the manifests of an OLM bundle and runs the checks of OLM's own library on them. The command
// prints the errors and warnings of the library, and exits with 1 if there are any. Only tests run this command.
package main

import (
	"fmt"
	"os"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
)

func main() {
	bundle, err := manifests.GetBundleFromDir(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	found := false
	for _, result := range append(validation.DefaultBundleValidators, validation.ObjectValidator).Validate(bundle.ObjectsToValidate()...) {
		for _, problem := range append(result.Errors, result.Warnings...) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", result.Name, problem)
			found = true
		}
	}
	if found {
		os.Exit(1)
	}
	fmt.Printf("%d objects\n", len(bundle.Objects))
}
