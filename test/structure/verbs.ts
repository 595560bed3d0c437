/** Verbs in titles of tests, by which a title is told from a bare topic. Add a verb that is missing here. */

const verbs = new Set(
  `accept accepts acknowledges acts add adds admit admits adopts affects agree agrees allow allows answers appear appears
   applies apply approves are aren't arrive arrives ask asks assigns balances be beats become becomes been
   begin begins belong belongs blocks break breaks build builds caches calls can cancel cancels cannot carries
   carry catches changes checks chooses cites claims clears close closes come comes compares completes
   compresses configures connects contain contains continues contradicts converts copies corrects costs could count
   counts cover covers crashes cross cuts deactivates deadlock decide decides declares delay deletes deliver
   deliveries delivers denies deny describes detect detects did dies differ differs disables disappears
   distinguish distinguishes divide do does doesn't don't doubles drains draws drop drops ejects embeds emits
   enables encodes ends enforces enter enters equals escapes estimates evicts exceeds exchanges exclude
   excludes exist exists exit exits expand expands expects expire expires explains fail fails fall falls fetch
   fetches fill fills find finds finish finishes fit fits flushes folds follow follows forbids forgets frees
   gains get gets give gives go goes grants grows had hands happens has have helps hide hides hold holds
   identify ignores include includes invalidates is isn't isolate join joins keep keeps kills knows lacks land
   lands last lasts lead leads learn learns leave leaves let lets lie lies links listens lists lives loads
   locates look looks loosen lose loses lowers make makes marks matches may mean means meet merge merges mint
   mints moves must names narrows need needs obey obeys omit omits opens overlaps override overtakes owns parses
   pass passes pauses pay pays permit permits pins pollutes prefer prefers prefixes preserve print prints
   produce produces prove proxies put puts queues raise raises reach reaches read reads receive recognises
   records recovers redact redacts redirects refers refreshes refuse refuses register registers reject rejects
   remain remains remembers reminds remove removes renews repairs repeats replace replaces report reports
   require requires reserves reset resets respect respond restrict restricts rests resume resumes retain return returns
   reuse reuses revives revoke revokes rises rotates run runs saves say says scan scans searches see sees send
   sends separates serve serves sets settles share ships should show shows shrinks signs skip skips sleeps
   slows solves sort speaks spells spend spends splits stand stands starts stay stays stops streams succeeds
   sum sums supports survive survives take takes tell tells thinks throttles throw throws times travel treat
   treats tried tries trigger truncates trusts try updates uses validates vary wait waits wakes wants warns was
   wasn't watches were will win wins withhold won't work works would wrap wraps write writes yield yields`.split(/\s+/),
);

/** @returns whether a word of the text is in the list of verbs; "name" and "use" are left out of it, since titles have them mostly as nouns */
export const hasVerb = (text: string): boolean =>
  (text.toLowerCase().match(/[a-z']+/g) ?? []).some((word) => verbs.has(word));
