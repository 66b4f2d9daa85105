/** The events of a feed of the last minutes, from which a reader resumes. */

/** As server-sent events are written: `id`, `event` and `data` lines. */
export type LoggedEvent = { sequence: number; text: string }

/** An event is kept for so long for a reader that resumes. */
export const KEPT_MS = 5 * 60_000
/** Characters of all feeds of a process; beyond them a feed forgets its older half. */
const MAX_CHARACTERS = 64 * 2 ** 20
const total = { characters: 0 }

type KeptEvent = LoggedEvent & { loggedMs: number }

export class EventLog {
  #entries: KeptEvent[] = []
  #sequence = 0

  /** The sequence of the newest event; 0 before the first one. */
  get sequence(): number {
    return this.#sequence
  }

  /** `write` makes the text of the sequence. */
  add(write: (sequence: number) => string): LoggedEvent {
    const loggedMs = performance.now()
    this.#sequence++
    const event = { sequence: this.#sequence, text: write(this.#sequence), loggedMs }
    this.#entries.push(event)
    total.characters += event.text.length
    const expired = this.#entries.findIndex((one) => one.loggedMs > loggedMs - KEPT_MS)
    // Dropping one at each event would move all of the others each time.
    if (expired > this.#entries.length / 2) this.#drop(expired)
    if (total.characters > MAX_CHARACTERS) this.#drop(Math.ceil(this.#entries.length / 2))
    return event
  }

  /** The events after this one; undefined where some of them are no longer kept. */
  since(sequence: number): readonly LoggedEvent[] | undefined {
    const oldest = this.#entries[0]?.sequence ?? this.#sequence + 1
    if (sequence > this.#sequence || sequence < oldest - 1) return undefined
    return this.#entries.slice(sequence - oldest + 1)
  }

  clear(): void {
    this.#drop(this.#entries.length)
  }

  #drop(count: number): void {
    for (const { text } of this.#entries.splice(0, count)) total.characters -= text.length
  }
}
