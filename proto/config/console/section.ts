/** `console`: the web console of the gateway, and the identity services for its sign-in. */
import { z } from "zod";
import { roles } from "../../lib/policy/role.ts";
import { network } from "../network.ts";

const email = /^(?:\*|[^\s@,*]+)@[^\s@,*]+$/;

/** E-mail address of a user, in lower case, so no rule can be evaded by another spelling. */
const user = z
  .string()
  .max(254)
  .regex(email, "an e-mail address, or *@example.com for all of a domain")
  .transform((text) => text.toLowerCase());

const rule = z
  .strictObject({
    user: user.optional().describe("E-mail address of the person, or *@example.com for everybody in a domain."),
    group: z.string().min(1).max(200).optional().describe("Group that the person is in, spelt as the service has it."),
    role: z.enum(roles).describe("viewer reads, operator also runs things and changes keys, admin may do everything."),
    workspace: z.string().min(1).max(200).optional().describe("Id or name of the workspace. Default: the default one."),
    account: z
      .boolean()
      .default(false)
      .describe("Whether the role holds for what belongs to every workspace, as with a management key of the account."),
  })
  .refine((given) => (given.user === undefined) !== (given.group === undefined), "needs either user or group")
  .refine((given) => !given.account || given.workspace === undefined, {
    path: ["workspace"],
    error: "stays away beside account, which means the default workspace and all others",
  });

export type PersonRule = z.infer<typeof rule>;

const rules = z
  .array(rule)
  .min(1)
  .max(1_000)
  .describe("The first rule that fits a person holds; without one the person is refused.");

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/, "the name of a header")
  .transform((name) => name.toLowerCase());

const trustedHeader = z.strictObject({
  from: z
    .array(network)
    .min(1)
    .max(100)
    .describe(
      "Addresses and networks of the proxy. The header counts in requests from these alone; from others a request that carries it is refused.",
    ),
  user_header: headerName
    .prefault("x-forwarded-email")
    .describe("Header with the person's e-mail address, in lower or upper case."),
  group_header: headerName.optional().describe("Header with the person's groups, separated by commas."),
  sign_out_url: z
    .string()
    .max(2_048)
    .regex(/^(?:\/[^/\\\s]\S*|https?:\/\/\S+)$/, "a path such as /oauth2/sign_out, or an address")
    .optional()
    .describe("Page of the proxy that signs the person out. The console opens it after its own sign-out."),
  roles: rules,
});

/** Path of the gateway to which the identity service redirects people after the sign-in. */
export const callbackPath = "/console/oidc/callback";

const isPrivate = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";

const privateUrl = z
  .url({ protocol: /^https?$/ })
  .refine((text) => isPrivate(new URL(text)), "https, unless it is on this machine");

const claim = z.string().min(1).max(200);

const oidc = z.strictObject({
  name: z.string().min(1).max(60).describe("Name of the service, for the button of the sign-in page."),
  issuer: privateUrl.describe(
    "Issuer of the service. Its discovery document is at .well-known/openid-configuration below.",
  ),
  client_id: z.string().min(1).max(500).describe("Id that the service knows Sluice by."),
  client_secret: z
    .string()
    .min(1)
    .max(2_000)
    .describe("Secret that belongs to it. The gateway reads it, from a variable or a file."),
  redirect_uri: privateUrl
    .refine((text) => new URL(text).pathname === callbackPath, `must end in ${callbackPath}`)
    .describe(
      `Address of the console as browsers know it, with the path ${callbackPath}; the service has to permit it.`,
    ),
  scope: z
    .string()
    .regex(/^openid(?: \S+)*$/, "openid, and further scopes after a space")
    .default("openid email profile")
    .describe("What the service is asked for."),
  user_claim: claim.default("email").describe("Claim with the person's e-mail address."),
  require_verified_email: z
    .boolean()
    .default(true)
    .describe(
      "Whether an address of the claim email counts only beside email_verified: true. False also accepts tokens without email_verified, as of Entra ID; any other value is refused all the same.",
    ),
  group_claim: claim.default("groups").describe("Claim with the person's groups: a text or a list of texts."),
  roles: rules,
});

export type OidcSettings = z.infer<typeof oidc>;

export type TrustedHeaderSettings = z.infer<typeof trustedHeader>;

export const consoleSection = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .describe(
      "Whether the gateway shows the console at /console. Default: yes when it listens on a loopback address, otherwise no.",
    ),
  trace_url: z
    .string()
    .max(2_048)
    .regex(/^https?:\/\/\S*\{trace_id\}\S*$/, "an address with {trace_id} in it")
    .optional()
    .describe(
      "Address of a trace in your tracing system, with {trace_id} where its id goes. The console links every request to it.",
    ),
  trusted_header: trustedHeader
    .optional()
    .describe(
      "A reverse proxy that signs people in and names the person in a header, such as oauth2-proxy, Cloudflare Access or IAP.",
    ),
  oidc: oidc
    .optional()
    .describe("A service of OpenID Connect that signs people in, such as Keycloak, Okta, Entra ID or Google."),
});
