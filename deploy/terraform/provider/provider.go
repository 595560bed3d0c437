package main

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-sluice/generated/resource_guardrail"
	"terraform-provider-sluice/generated/resource_key"
	"terraform-provider-sluice/generated/resource_workspace"
)

type sluice struct{}

func newProvider() provider.Provider { return sluice{} }

func (sluice) Metadata(_ context.Context, _ provider.MetadataRequest, answer *provider.MetadataResponse) {
	answer.TypeName = "sluice"
}

func (sluice) Schema(_ context.Context, _ provider.SchemaRequest, answer *provider.SchemaResponse) {
	answer.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"url": schema.StringAttribute{
			Optional:    true,
			Description: "Address of the gateway, without a path. SLUICE_URL when absent.",
		},
		"management_key": schema.StringAttribute{
			Optional:    true,
			Sensitive:   true,
			Description: "A management key. SLUICE_MANAGEMENT_KEY when absent.",
		},
	}}
}

func (sluice) Configure(ctx context.Context, request provider.ConfigureRequest, answer *provider.ConfigureResponse) {
	var given struct {
		URL           types.String `tfsdk:"url"`
		ManagementKey types.String `tfsdk:"management_key"`
	}
	answer.Diagnostics.Append(request.Config.Get(ctx, &given)...)
	answer.ResourceData = &client{
		url: orVariable(given.URL, "SLUICE_URL"),
		key: orVariable(given.ManagementKey, "SLUICE_MANAGEMENT_KEY"),
	}
}

func orVariable(given types.String, name string) string {
	if given.IsNull() {
		return os.Getenv(name)
	}
	return given.ValueString()
}

func (sluice) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource {
			return &record{name: "key", path: "keys", id: "hash", generated: resource_key.KeyResourceSchema}
		},
		func() resource.Resource {
			return &record{name: "guardrail", path: "guardrails", id: "id", generated: resource_guardrail.GuardrailResourceSchema}
		},
		func() resource.Resource {
			return &record{name: "workspace", path: "workspaces", generated: resource_workspace.WorkspaceResourceSchema}
		},
	}
}

func (sluice) DataSources(context.Context) []func() datasource.DataSource { return nil }
