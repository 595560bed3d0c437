/**
 * Limits the names from a provider that appear in logs, receipts and errors: error codes, finish reasons, media types.
 * A provider can write anything there, including text withheld from clients by a guardrail, so a name is shown only if
 * it consists of words common in such names.
 */

/** Replaces a name with other words. */
const unlisted = "unlisted";

const maxLength = 64;
const maxDigits = 6;

/**
 * Words from the error references of OpenAI, Anthropic, Google, Amazon, Azure, Mistral, Cohere, Groq, xAI, DeepSeek,
 * Together, vLLM and llama.cpp.
 */
const words: ReadonlySet<string> = new Set(
  `
  aborted above access account acknowledgment action active address already and api application argument arguments array audio auth
  authentication authorization automatic availability available
  background bad balance base64 batch below billing bio blocked blocklist body boolean budget busy by
  cache calls call can cancelled canceled capacity card charset chat check client code codes completion completions compress compression
  concurrency concurrent config conflict connection consumed content context core country credential credentials credit credits csv cut cyber
  data deadline decimal decommissioned deflate deleted denied deployment deprecated detected did digest disabled document does done download
  duplicate
  embedding embeddings empty encoded encoding encrypted end endpoint engine entity err error errors event exceed exceeded exceeds exception
  execution exhausted expired expression
  failed failure feature file files filter filtered finish flagged forbidden form format found frame free function functions
  gateway general generation geo gone gzip guardrail guardrails
  hard harm has header headers hit host hour html http
  id identity image images in incomplete incorrect inference input instance insufficient integer internal interrupted intervened invalid is
  item items
  javascript json
  key keys
  large language last length level limit limited limits load loading location long longer lost
  malformed max maximum media memory message messages method mime min minimum minute misalignment mismatch missing mode model models moderation
  must
  name network no non nonexistent not null number
  object octet some of on only operation option options organization origin other out output over overdue overload overloaded owner
  page parallel param parameter parameters parse parsing partial path pause paused payload payment pending per permission permissions pdf plain
  plan png policy position precondition prediction preprocessing previous processing progress prohibited project prompt prompts provider
  provisioned
  query queue queued quota quotas
  range rate rates rating reached read ready reason reasoning recitation refusal refused region rejected remote replay requests request required
  requires reset resource resources response responses restricted result retry role run runtime
  safety schema search sequence server service services session setup signature size small soft spend spending spii sse state status stop stopped
  store stream streaming string structured subscription success supported suspended system
  team temporarily temporary terminated text thinking thread throttled throttling tier time timed timeout token tokens too tool tools total
  traffic transient turn turns type
  unable unavailable unauthenticated unauthorized unexpected unhandled unknown unprocessable unsafe unspecified unsupported until upload
  upstream url usage use used user uses utf
  validation value values vector version video violation vision
  wait webp while window with word write wrong
  xml
  yaml
  zstd
  br identity
  `
    .trim()
    .split(/\s+/),
);

const separators = /[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/;

/** @returns the name, or a placeholder if the name is longer than 64 characters or contains a word that is not in the list */
export function maskUnknownName(name: string): string {
  if (name.length > maxLength || !/^[\w ,./;=+-]*$/.test(name)) return unlisted;
  return name.split(separators).every(isKnown) ? name : unlisted;
}

const isKnown = (word: string): boolean =>
  word === "" || words.has(word.toLowerCase()) || (word.length <= maxDigits && /^\d+$/.test(word));
