/** Addresses of the page of a request, of a session, and of the list of sessions. */

export const requestAddress = (id: string): string => `/console/requests/${encodeURIComponent(id)}`;

export const sessionAddress = (id: string): string => `/console/sessions/${encodeURIComponent(id)}`;

/** Address of the list of sessions. @param view parts of the address; an empty part is left out */
export function sessionsAddress(view: Readonly<Partial<Record<"days" | "tags" | "cursor", string>>>): string {
  const query = new URLSearchParams(Object.entries(view).filter(([, value]) => value !== ""));
  return `/console/sessions${query.size > 0 ? `?${query}` : ""}`;
}
