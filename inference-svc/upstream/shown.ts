/** Makes a provider's words fit to show: short, one line, without anything that tells where it runs or with which key. */

const maxCharacters = 500;

const secrets = /\b(?:bearer\s+|(?:sk|pk|rk|mk|ak|gsk|key|token|xai|ghp|AIza)[-_])[\w.-]{6,}/gi;
/** Long runs that mix letters and digits are keys or hashes far more often than words. */
const tokens = /\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}/g;
const links = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi;
const addresses =
  /\b(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|[\w-]+(?:\.[\w-]+)*\.(?:local|internal|svc|lan|corp)\b(?::\d+)?|[\w-]+(?:\.[\w-]+)+:\d{2,5})/gi;
const controls = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu;

export function shown(text: string): string {
  const clean = text
    .slice(0, 4_000)
    .replace(links, "[link]")
    .replace(secrets, "[redacted]")
    .replace(tokens, "[redacted]")
    .replace(addresses, "[address]")
    .replace(controls, " ")
    .trim();
  const characters = Array.from(clean);
  return characters.length > maxCharacters ? `${characters.slice(0, maxCharacters - 1).join("")}…` : clean;
}
