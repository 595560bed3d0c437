/** The form of the ids that Postgres makes: a UUID in lower case, with its four dashes. */
export const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
