// Runs one client: reads a line `door feature` from stdin, runs that function of the client, and writes one line of JSON with its outcome.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

const (
	echo     = "sluice/echo"
	far      = "far/model"
	embedder = "far/embed"
	unknown  = "nobody/nothing"
	pixel    = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

var baseURL, apiKey = os.Getenv("SLUICE_BASE_URL"), os.Getenv("SLUICE_API_KEY")

var town = map[string]any{
	"type":       "object",
	"properties": map[string]any{"town": map[string]any{"type": "string"}},
	"required":   []string{"town"},
}

var moon = map[string]any{
	"type": "object",
	"properties": map[string]any{
		"name":   map[string]any{"type": "string"},
		"planet": map[string]any{"type": "string", "enum": []string{"Mars", "Jupiter"}},
	},
	"required":             []string{"name", "planet"},
	"additionalProperties": false,
}

type features map[string]func()

var clients = map[string]features{}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func has(text, part string) {
	if !strings.Contains(text, part) {
		panic(fmt.Sprintf("%q has no %q", text, part))
	}
}

func same(seen, expected any) {
	if fmt.Sprint(seen) != fmt.Sprint(expected) {
		panic(fmt.Sprintf("%v is not %v", seen, expected))
	}
}

func run(feature func()) (failure any) {
	defer func() { failure = recover() }()
	if feature == nil {
		panic("no such feature")
	}
	feature()
	return nil
}

func main() {
	client := clients[os.Args[1]]
	fmt.Println(`{"ready":true}`)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		failure := run(client[lines.Text()])
		outcome := map[string]any{"passed": failure == nil}
		if failure != nil {
			outcome["error"] = fmt.Sprint(failure)
		}
		fmt.Println(string(must(json.Marshal(outcome))))
	}
}
