package main

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// lastPut is the key under which Terraform stores the body of the last PUT with the state.
const lastPut = "put"

// completeSchema adds properties that OpenAPI cannot express.
func completeSchema(attributes map[string]schema.Attribute) {
	id := attributes["external_id"].(schema.StringAttribute)
	id.Required, id.Optional, id.Computed = true, false, false
	id.PlanModifiers = []planmodifier.String{stringplanmodifier.RequiresReplace()}
	attributes["external_id"] = id
	if key, ok := attributes["key"].(schema.StringAttribute); ok {
		// Only the answer to the creation of a key contains its secret.
		key.Sensitive, key.PlanModifiers = true, []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
		attributes["key"] = key
	}
}

// settings are the attributes that can be configured, without the external id, which is in the path.
func (r *record) settings(ctx context.Context) []string {
	var names []string
	for name, attribute := range r.generated(ctx).Attributes {
		if name != "external_id" && (attribute.IsRequired() || attribute.IsOptional()) {
			names = append(names, name)
		}
	}
	return names
}

// bodyOf returns the body of a PUT; equal settings give equal bytes.
func (r *record) bodyOf(ctx context.Context, config tftypes.Value) []byte {
	given, body := attributesOf(config), object{}
	for _, name := range r.settings(ctx) {
		if value := given[name]; !value.IsNull() {
			body[name] = toJSON(value)
		}
	}
	text, err := json.Marshal(body)
	must(err)
	return text
}

// ModifyPlan marks unset attributes as unknown if the settings have changed. Otherwise Terraform would keep the value of a removed setting,
// while PUT resets it to the value of a new record.
func (r *record) ModifyPlan(ctx context.Context, request resource.ModifyPlanRequest, answer *resource.ModifyPlanResponse) {
	if request.Plan.Raw.IsNull() || request.State.Raw.IsNull() || !request.Config.Raw.IsFullyKnown() {
		return
	}
	last, problems := request.Private.GetKey(ctx, lastPut)
	answer.Diagnostics.Append(problems...)
	// An imported record was never put by this provider.
	if last == nil || bytes.Equal(last, r.bodyOf(ctx, request.Config.Raw)) {
		return
	}
	given, planned := attributesOf(request.Config.Raw), attributesOf(request.Plan.Raw)
	for _, name := range append(r.settings(ctx), "data") {
		opened, err := tftypes.Transform(given[name], unknownIfNull)
		must(err)
		planned[name] = opened
	}
	answer.Plan.Raw = tftypes.NewValue(request.Plan.Raw.Type(), planned)
}

func unknownIfNull(_ *tftypes.AttributePath, value tftypes.Value) (tftypes.Value, error) {
	if value.IsNull() {
		return tftypes.NewValue(value.Type(), tftypes.UnknownValue), nil
	}
	return value, nil
}
