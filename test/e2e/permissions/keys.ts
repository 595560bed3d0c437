/** Keys with permissions, created over HTTP. */
import type { Installation } from "../../support/installation.ts";

/** Lists of permitted names, by the name of the list in the API. */
export type Permissions = Readonly<Record<string, readonly string[]>>;

/** @throws Error for a status other than 2xx */
export async function administer(
  { baseUrl, managementKey }: Installation,
  method: string,
  path: string,
  body?: object,
): Promise<object> {
  const answer = await fetch(`${baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${managementKey}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as object;
}

export async function newKey(
  installation: Installation,
  settings: { readonly permissions: Permissions },
): Promise<{ readonly key: string; readonly hash: string }> {
  const made = await administer(installation, "POST", "/keys", { name: "narrow", ...settings });
  const { key, data } = made as { readonly key: string; readonly data: { readonly hash: string } };
  return { key, hash: data.hash };
}
