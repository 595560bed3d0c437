package main

import (
	"encoding/json"
	"math/big"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Precision of a number in Terraform, in bits.
const precision = 512

// A decoded JSON object; its numbers keep every digit.
type object = map[string]any

func attributesOf(value tftypes.Value) map[string]tftypes.Value {
	attributes := map[string]tftypes.Value{}
	must(value.As(&attributes))
	return attributes
}

func textOf(value tftypes.Value) string {
	var text string
	must(value.As(&text))
	return text
}

// toJSON leaves out null fields of objects, so that Sluice gives them their defaults.
func toJSON(value tftypes.Value) any {
	switch kind := value.Type(); {
	case kind.Is(tftypes.String):
		return textOf(value)
	case kind.Is(tftypes.Bool):
		var is bool
		must(value.As(&is))
		return is
	case kind.Is(tftypes.Number):
		number := new(big.Float)
		must(value.As(&number))
		return json.Number(number.Text('f', -1))
	case kind.Is(tftypes.List{}):
		var entries []tftypes.Value
		must(value.As(&entries))
		list := []any{}
		for _, entry := range entries {
			list = append(list, toJSON(entry))
		}
		return list
	}
	fields := object{}
	for name, field := range attributesOf(value) {
		if !field.IsNull() {
			fields[name] = toJSON(field)
		}
	}
	return fields
}

func fromJSON(kind tftypes.Type, given any) tftypes.Value {
	switch value := given.(type) {
	case object:
		fields := map[string]tftypes.Value{}
		for name, field := range typesOf(kind, value) {
			fields[name] = fromJSON(field, value[name])
		}
		return tftypes.NewValue(kind, fields)
	case []any:
		entries := []tftypes.Value{}
		for _, entry := range value {
			entries = append(entries, fromJSON(kind.(tftypes.List).ElementType, entry))
		}
		return tftypes.NewValue(kind, entries)
	case json.Number:
		number, _, err := big.ParseFloat(value.String(), 10, precision, big.ToNearestEven)
		must(err)
		return tftypes.NewValue(kind, number)
	}
	return tftypes.NewValue(kind, given)
}

// typesOf returns the type of each member: for an object those of the schema, for a map one for each member of the answer.
func typesOf(kind tftypes.Type, given object) map[string]tftypes.Type {
	if shape, ok := kind.(tftypes.Object); ok {
		return shape.AttributeTypes
	}
	types := map[string]tftypes.Type{}
	for name := range given {
		types[name] = kind.(tftypes.Map).ElementType
	}
	return types
}

// unlessSame keeps the earlier value if Sluice's answer means the same: a time written with microseconds, or null for an empty list or map.
func unlessSame(earlier, shown tftypes.Value) tftypes.Value {
	if earlier.IsNull() {
		return shown
	}
	if shown.IsNull() {
		switch given := toJSON(earlier).(type) {
		case []any:
			if len(given) == 0 {
				return earlier
			}
		case object:
			if len(given) == 0 {
				return earlier
			}
		}
		return shown
	}
	if shown.Type().Is(tftypes.String) && sameTime(textOf(earlier), textOf(shown)) {
		return earlier
	}
	return shown
}

func sameTime(one, other string) bool {
	first, problem := time.Parse(time.RFC3339, one)
	second, otherProblem := time.Parse(time.RFC3339, other)
	return problem == nil && otherProblem == nil && first.Equal(second)
}

// must panics on errors: values have the types of the schema, so an error is a bug of the provider.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
