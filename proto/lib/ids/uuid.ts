/** Matches a UUID in lower case with its four dashes, as Postgres and `newUuid` write it. */
export const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
