/**
 * Blocks that no message may take back. A block is irreversible two minutes after a message named it final, if that message is still on the
 * ledger. A message alone proves no finality, since anyone with the right to write to the log may append one; but the next block of a running
 * listener replaces blocks of another chain long before.
 */

export const SETTLE_MS = 120_000

type Named = {
  finalized: number
  /** The last block of the message that named it. */
  by: number
  atMs: number
}

export class IrreversibleBlocks {
  readonly #now: () => number
  #irreversible: number
  #named: Named[] = []

  /** `irreversible`: the newest stored one. */
  constructor(irreversible = 0, now: () => number = () => performance.now()) {
    this.#irreversible = irreversible
    this.#now = now
  }

  /** The newest block that was named as final; 0 where none was. */
  get named(): number {
    return Math.max(this.#irreversible, this.#named.at(-1)?.finalized ?? 0)
  }

  get irreversible(): number {
    while (this.#named[0] && this.#now() - this.#named[0].atMs >= SETTLE_MS) {
      this.#irreversible = Math.max(this.#irreversible, this.#named.shift()?.finalized ?? 0)
    }
    return this.#irreversible
  }

  name(finalized: number, by: number): void {
    if (finalized > this.named) this.#named.push({ finalized, by, atMs: this.#now() })
  }

  /** Messages above block `to` are taken back, with the blocks that they named final. */
  rollBack(to: number): void {
    this.#named = this.#named.filter(({ by }) => by <= to)
    this.#irreversible = Math.min(this.#irreversible, to)
  }
}
