/** Checks the headers that the endpoints of one network answer. */
import { headerVerdict } from './header-hash.ts'

export class HeaderProof {
  readonly #from: number
  /** A fork holds for all later blocks: above this one a header may have unknown fields. */
  #newestProven = -1

  /** `from`: the first block whose hash is that of its fields. */
  constructor(from = 0) {
    this.#from = from
  }

  /**
   * Returns a reason where the header's fields do not hash to its hash. `answer`: to `eth_getBlockByNumber`, of any shape. `onUnknownField`:
   * called for a header with a field that no known fork has; it is used without proof.
   */
  check(answer: unknown, onUnknownField: (block: number) => void): string | undefined {
    if (typeof answer !== 'object' || answer === null) return undefined
    const block = answer as Record<string, unknown>
    const number = Number(block['number'])
    // A pending block has no hash; an answer that is no header is refused where it is read.
    if ((block['hash'] ?? null) === null || !(number >= this.#from)) return undefined
    const verdict = headerVerdict(block)
    if (verdict === 'proven') this.#newestProven = Math.max(this.#newestProven, number)
    else if (verdict === 'unknown-fork' && number > this.#newestProven) onUnknownField(number)
    else return `The header of block ${number} does not hash to ${String(block['hash']).slice(0, 66)}.`
    return undefined
  }
}
