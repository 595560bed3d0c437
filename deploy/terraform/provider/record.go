package main

import (
	"context"
	"errors"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A record that is created, changed and found by its external id.
type record struct {
	*client
	name string
	path string
	// The attribute in the answer by which a record is deleted; empty for a kind of record that is never deleted.
	id        string
	generated func(context.Context) schema.Schema
}

var _ resource.ResourceWithConfigure = (*record)(nil)
var _ resource.ResourceWithModifyPlan = (*record)(nil)
var _ resource.ResourceWithImportState = (*record)(nil)

func (r *record) Metadata(_ context.Context, request resource.MetadataRequest, answer *resource.MetadataResponse) {
	answer.TypeName = request.ProviderTypeName + "_" + r.name
}

func (r *record) Schema(ctx context.Context, _ resource.SchemaRequest, answer *resource.SchemaResponse) {
	answer.Schema = r.generated(ctx)
	completeSchema(answer.Schema.Attributes)
}

func (r *record) Configure(_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	// Terraform also calls this before it configures the provider, when there is no client.
	r.client, _ = request.ProviderData.(*client)
}

func (r *record) Create(ctx context.Context, request resource.CreateRequest, answer *resource.CreateResponse) {
	answer.Diagnostics.Append(r.save(ctx, request.Config.Raw, request.Plan.Raw, &answer.State, answer.Private, "make")...)
}

func (r *record) Update(ctx context.Context, request resource.UpdateRequest, answer *resource.UpdateResponse) {
	answer.Diagnostics.Append(r.save(ctx, request.Config.Raw, request.Plan.Raw, &answer.State, answer.Private, "change")...)
}

// Private data that Terraform stores with the state of a record.
type private interface {
	SetKey(context.Context, string, []byte) diag.Diagnostics
}

// save creates or changes the record. The verb, such as make, is for its error.
func (r *record) save(ctx context.Context, config, plan tftypes.Value, state *tfsdk.State, kept private, verb string) diag.Diagnostics {
	saved, err := r.put(ctx, config, plan)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Sluice did not "+verb+" the "+r.name, err.Error())}
	}
	state.Raw = saved
	return kept.SetKey(ctx, lastPut, r.bodyOf(ctx, config))
}

// put sends the record, and returns the plan with its unknown values filled in from Sluice's answer.
func (r *record) put(ctx context.Context, config, plan tftypes.Value) (tftypes.Value, error) {
	planned := attributesOf(plan)
	answered, err := r.ask(ctx, "PUT", r.place(planned), r.bodyOf(ctx, config))
	if err == nil && answered == nil {
		err = errors.New("404: no such path, or nothing that this management key may see")
	}
	if err != nil {
		return plan, err
	}
	shown := answered["data"].(object)
	for name, value := range planned {
		if value.IsFullyKnown() {
			continue
		}
		if answer, ok := answered[name]; ok {
			planned[name] = fromJSON(value.Type(), answer)
		} else {
			planned[name] = fromJSON(value.Type(), shown[name])
		}
	}
	return tftypes.NewValue(plan.Type(), planned), nil
}

func (r *record) Read(ctx context.Context, request resource.ReadRequest, answer *resource.ReadResponse) {
	state := attributesOf(request.State.Raw)
	answered, err := r.ask(ctx, "GET", r.place(state), nil)
	if err != nil {
		answer.Diagnostics.AddError("Sluice did not show the "+r.name, err.Error())
		return
	}
	if answered == nil {
		answer.State.RemoveResource(ctx)
		return
	}
	shown := answered["data"].(object)
	for _, name := range r.settings(ctx) {
		// An answer contains the end user of a key under another name than a request.
		if value, ok := shown[name]; ok {
			state[name] = unlessSame(state[name], fromJSON(state[name].Type(), value))
		}
	}
	state["data"] = fromJSON(state["data"].Type(), shown)
	answer.State.Raw = tftypes.NewValue(request.State.Raw.Type(), state)
}

func (r *record) Delete(ctx context.Context, request resource.DeleteRequest, answer *resource.DeleteResponse) {
	if r.id == "" {
		answer.Diagnostics.AddWarning("The "+r.name+" stays", "Sluice never deletes one. Terraform forgets it.")
		return
	}
	id := textOf(attributesOf(attributesOf(request.State.Raw)["data"])[r.id])
	if _, err := r.ask(ctx, "DELETE", r.path+"/"+url.PathEscape(id), nil); err != nil {
		answer.Diagnostics.AddError("Sluice did not delete the "+r.name, err.Error())
	}
}

func (r *record) ImportState(ctx context.Context, request resource.ImportStateRequest, answer *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("external_id"), request, answer)
}

func (r *record) place(attributes map[string]tftypes.Value) string {
	return r.path + "/by-external-id/" + url.PathEscape(textOf(attributes["external_id"]))
}
