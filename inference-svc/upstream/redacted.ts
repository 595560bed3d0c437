/** A body as it may be shown to who asked for it: without the bytes of images and files. It never holds credentials. */

const dataUrls = /("data:[^";,]{0,100};base64,)[\w+/=-]+/g;
/** A file or a recording without a data URL around it. */
const payloads = /("(?:file_data|data)":")[\w+/=-]{256,}(?=")/g;

export const redacted = (bodyJson: string): string =>
  bodyJson.replace(dataUrls, "$1[redacted]").replace(payloads, "$1[redacted]");
