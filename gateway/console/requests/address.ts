/** Addresses of the page of a request, and of a session. */

export const requestAddress = (id: string): string => `/console/requests/${encodeURIComponent(id)}`;

export const sessionAddress = (id: string): string => `/console/sessions/${encodeURIComponent(id)}`;
