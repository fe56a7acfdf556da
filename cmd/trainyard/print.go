package main

import (
	"encoding/json"
	"fmt"
	"io"
)

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func printList[T any](w io.Writer, format string, list []T, line func(T) string) error {
	if format == "json" {
		return printJSON(w, append([]T{}, list...)) // an empty list is [], not null
	}
	for _, item := range list {
		if _, err := fmt.Fprintln(w, line(item)); err != nil {
			return err
		}
	}
	return nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
