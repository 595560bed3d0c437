/** Configured providers: those of the configuration file and those of the database. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";

export type ConfiguredProvider = Schemas["ConfiguredProvider"];
export type NewProvider = Schemas["NewProvider"];
export type ProviderChange = Schemas["ProviderChange"];
export type ProviderTest = Schemas["ProviderTest"];

export const loadConfigured = async (): Promise<readonly ConfiguredProvider[]> =>
  (await unwrapAnswer(api.GET("/providers/configured", {}))).data;

export type LocalServer = Schemas["LocalServer"];

/** Model servers on the gateway's machine that are not configured as providers. */
export async function findServers(): Promise<readonly LocalServer[]> {
  const { data } = await unwrapAnswer(api.GET("/providers/found", {}));
  return data.filter(({ provider }) => provider === null);
}

export const addServer = ({ id, name, base_url, models }: LocalServer): Promise<ConfiguredProvider> =>
  createProvider({ id, name, dialect: "chat", base_url, models: [...models] } as NewProvider);

export const createProvider = async (body: NewProvider): Promise<ConfiguredProvider> =>
  (await unwrapAnswer(api.POST("/providers", { body }))).data;

export const updateProvider = async (id: string, body: ProviderChange): Promise<ConfiguredProvider> =>
  (await unwrapAnswer(api.PATCH("/providers/{id}", { params: { path: { id } }, body }))).data;

export const deleteProvider = (id: string): Promise<unknown> =>
  unwrapAnswer(api.DELETE("/providers/{id}", { params: { path: { id } } }));

export const testProvider = async (id: string): Promise<ProviderTest> =>
  (await unwrapAnswer(api.POST("/providers/{id}/test", { params: { path: { id } }, body: {} }))).data;

/** A setting of a provider if it is a text, else the empty text. */
export const textSetting = ({ settings }: ConfiguredProvider, name: string): string => {
  const value = settings[name];
  return typeof value === "string" ? value : "";
};

/** Models of a provider listed by name only. `all` is false if the list has models with more settings. */
export function namedModels({ settings: { models } }: ConfiguredProvider): { names: string[]; all: boolean } {
  const list: readonly unknown[] = Array.isArray(models) ? models : [];
  const names = list.filter((model) => typeof model === "string");
  return { names, all: names.length === list.length };
}
