/**
 * Known wordings of prompt injection, written for Sluice and not copied from any list. `|` separates the alternatives
 * for a word, `~3` allows up to three other words before the next one, and $name is a set of words.
 */
import { buildWordKey } from "./word-key.ts";

const sets: Readonly<Record<string, string>> = {
  $drop:
    "ignore|ignoring|ignored|disregard|disregarding|forget|forgetting|override|overriding|overwrite|bypass|bypassing|neglect|discard|dismiss|skip|drop|erase|circumvent|abandon|unlearn",
  $earlier:
    "previous|previously|prior|above|earlier|preceding|existing|initial|original|foregoing|former|current|given|before|past|old|your|system|developer|these|those|aforementioned",
  $orders:
    "instruction|instructions|prompt|prompts|rule|rules|directive|directives|guideline|guidelines|command|commands|constraint|constraints|programming|training|restrictions|policies|orders|guardrails|safeguards|context|messages|message",
  $limits:
    "restriction|restrictions|filter|filters|rules|limits|limitations|guidelines|censorship|guardrails|ethics|morals|constraints|boundaries|safeguards|policies|safety",
  $show:
    "reveal|show|print|repeat|output|display|disclose|leak|dump|tell|share|expose|recite|reproduce|paste|write|give|summarize|translate|encode|echo",
  $hidden: "system|initial|hidden|original|secret|developer|internal|preprompt|confidential|above|previous|starting",
  $prompt: "prompt|prompts|instruction|instructions|message|directives|guidelines|rules|configuration",
};

const wordings: readonly string[] = [
  // Orders to drop the instructions.
  "$drop ~1 all|any|every|everything|whatever ~3 $earlier ~3 $orders",
  "$drop ~2 previous|previously|prior|above|earlier|preceding|foregoing|existing|initial|original|system|developer ~2 $orders",
  "$drop ~1 your ~3 $orders",
  "$drop ~1 all|any ~2 $orders ~1 above|before|previously|given|so|you",
  "$drop ~1 everything|anything|all|what ~3 above|before|previously|earlier|told|said",
  "$drop ~3 $orders ~2 above|before|previously|earlier",
  "$drop ~2 $orders ~2 you|which ~2 given|told|received|got",
  "do not|never ~1 follow|obey ~2 previous|prior|above|earlier|original|system|your|other ~2 $orders",
  "don't|dont|stop ~1 follow|following|obey|obeying ~2 previous|prior|above|earlier|original|system|your ~2 $orders",
  "pay|paying|give no attention|heed|mind to ~3 $orders",
  "set|put|lay|cast|leave aside|away|behind ~3 $orders",
  "$orders ~3 no longer apply|applies|valid|matter|bind|count",
  "stop|quit|cease ~1 being|acting ~4 assistant|ai|model|bot",
  "never|not|without ~2 given|bound|have|had ~2 any $limits|instructions",
  "$orders ~1 above|before ~2 $drop|void|invalid|obsolete|cancelled|superseded",
  "previous|prior|above|earlier|preceding ~1 $orders ~3 void|invalid|obsolete|cancelled|superseded|revoked|ignored|overridden|expired",
  "new|updated|real|actual|true ~1 instruction|instructions ~4 override|overrides|replace|replaces|supersede|supersedes ~4 $orders|previous|prior|all",
  "from now on ~1 you ~4 not|no|without|ignore|dan|unrestricted|unfiltered|jailbroken|evil|obey|pretend",
  // Orders to reveal the instructions.
  "$show ~3 your|the|its|this ~1 $hidden ~1 $prompt",
  "$show $hidden $prompt",
  "$show ~3 your $prompt",
  "exact|exactly|full|complete|verbatim|entire|whole ~2 text|content|contents|wording|words|copy ~2 your|system|hidden|initial ~1 $prompt",
  "$show ~4 conversation|chat|context|prompt|messages ~2 verbatim|exactly",
  "$show ~3 your ~2 $prompt verbatim|exactly|word",
  "what|whats ~1 is|are|was|were|s ~1 your ~1 system|initial|hidden|original|secret|developer ~1 $prompt",
  "what|whats ~1 your ~1 system|initial|hidden|original|secret|developer ~1 $prompt",
  "$show ~3 text|everything|words|content|message|all ~2 above ~3 verbatim|word|exactly|starting|beginning|code",
  "repeat|print|output|copy ~2 everything|all|words|text|sentences ~1 above",
  "begin|start|starting|beginning ~2 with ~1 you are ~6 repeat|print|output|verbatim",
  // Orders to act without rules.
  "you are now ~4 dan|unrestricted|unfiltered|jailbroken|uncensored|evil|unbound|free",
  "you are no longer ~4 ai|assistant|bound|model|restricted|limited",
  "act|behave|respond|answer|reply|write|pretend|roleplay|operate|function ~6 without ~3 $limits",
  "act|behave|pretend|imagine|roleplay ~6 no|not ~3 $limits",
  "become|becomes|be dan|unrestricted|unfiltered|jailbroken|uncensored",
  "assistant|ai|model|bot ~3 no|without|zero ~2 $limits",
  "act|pretend|behave ~2 as ~3 dan|jailbroken|unrestricted|unfiltered|uncensored|evil",
  "pretend|imagine|act ~4 not ~1 bound|restricted|limited|subject|constrained",
  "you ~2 have|has no ~3 $limits|filter|conscience",
  "do anything now",
  "developer|dan|god|jailbreak|sudo|unrestricted|debug|admin|maintenance mode enabled|activated|on|unlocked",
  "switch|change|go|move ~3 unrestricted|unfiltered|uncensored|jailbreak|dan|god mode",
  "enter ~1 developer|debug|admin mode",
  "enable|enter|activate|unlock|switch ~3 dan|god|jailbreak|sudo|unrestricted|unfiltered mode",
  "free|freed|released|unbound|liberated from ~3 $limits|openai|anthropic",
  "disable|remove|deactivate|lift|suspend ~1 all|your|any|every ~3 $limits",
  "disable|remove|deactivate|suspend ~2 safety|content|ethical|moderation ~1 $limits|protocols|checks|settings",
  // Orders within content meant only for reading.
  "attention|important|note|notice|message ~3 ai|llm|assistant|model|chatbot|gpt|agent ~5 ignore|must|reading|instead|stop|do",
  "if you are ~2 ai|llm|assistant|model|chatbot|agent ~6 ignore|must|send|include|say|reply|respond|output|forward|instead",
  "ai|llm|assistant|model|chatbot|agent ~3 reading|processing|summarizing|parsing ~5 must|should|ignore|send|include|instead|please",
  "end of|system prompt|message|instructions ~1 new instructions|prompt|task",
  "do not|never tell|inform|mention|alert ~3 user ~6 instruction|instructions|message|this|email|about",
  "without|dont|don't ~1 telling|informing|alerting|tell|inform|alert the user",
  "your new|real|true|actual task|instructions|goal|objective|role|purpose is|are",
  "send|forward|upload|post|exfiltrate|email ~5 conversation|chat|history|credentials|passwords|secrets|keys ~4 to",
  // The same orders in other languages.
  "ignoriere|ignorieren|vergiss|vergesse|missachte ~2 alle|alles|bisherigen|vorherigen|vorigen|obigen|deine ~3 anweisungen|anweisung|regeln|instruktionen|befehle|vorgaben",
  "zeige|zeig|gib|nenne|verrate ~2 deinen|deine|den|dein ~1 systemprompt|systemnachricht|systemanweisungen|systemanweisung",
  "ignore|ignorez|ignorer|oublie|oubliez ~3 instructions|consignes|directives|règles ~2 précédentes|precedentes|antérieures|initiales|ci",
  "ignora|ignore|olvida|olvide|descarta ~3 instrucciones|reglas|indicaciones|órdenes|directrices ~2 anteriores|previas|originales",
  "ignora|dimentica|scorda ~3 istruzioni|regole|direttive ~2 precedenti|originali|iniziali",
  "ignore|esqueça|esquece|desconsidere ~3 instruções|regras|instrucoes ~2 anteriores|prévias|originais",
  "negeer|vergeet ~2 alle|vorige|eerdere|bovenstaande ~2 instructies|regels|aanwijzingen|opdrachten",
];

/** Markup of chat templates. Within a text, it pretends to start another speaker's turn. */
export const templateMarkers: readonly string[] = [
  "<|im_start|>",
  "<|im_end|>",
  "<|system|>",
  "<|start_header_id|>",
  "<|endoftext|>",
  "<<SYS>>",
  "<</SYS>>",
  "[INST]",
  "[/INST]",
  "<system>",
  "</system>",
  "[SYSTEM OVERRIDE]",
  "### SYSTEM:",
  "### System:",
];

export interface WordSlot {
  /** Keys of the words that fit this slot. */
  readonly words: ReadonlySet<string>;
  /** Maximum number of other words in front of this slot's word. */
  readonly gap: number;
}

function parseWording(wording: string): readonly WordSlot[] {
  const places: WordSlot[] = [];
  let gap = 0;
  for (const part of wording.split(" ")) {
    if (part.startsWith("~")) {
      gap = Number(part.slice(1));
      continue;
    }
    const words = part.split("|").flatMap((word) => (sets[word] ?? word).split("|"));
    places.push({ words: new Set(words.map(buildWordKey)), gap });
    gap = 0;
  }
  return places;
}

/** The remaining slots of each wording, by the key of its first word. */
export const wordingsByFirstWord = new Map<string, (readonly WordSlot[])[]>();
for (const wording of wordings) {
  const [first, ...rest] = parseWording(wording);
  for (const word of first?.words ?? [])
    wordingsByFirstWord.set(word, [...(wordingsByFirstWord.get(word) ?? []), rest]);
}
