/** Hashes, roots, blooms and finality. */
import { faultsIn } from '../plant.ts'

const HEADER = ['test/ingest/proof/header-hash.test.ts']
const ROOT = ['test/ingest/proof/receipts-root.test.ts']
const BLOOM = ['test/ingest/proof/bloom.test.ts']
const FINALITY = ['test/ingest/rpc/finality.test.ts']
const BLOCK = ['test/ingest/audit/audit-proof.test.ts']

export const PROOF = [
  ...faultsIn('ingest/proof/header-hash.ts', HEADER, [
    ['a forged header is of an unknown fork', ": 'forged'", ": 'unknown-fork'"],
    [
      'fields of later forks are always part of the header',
      'for (let count = later.length; count >= 0; count--)',
      'for (let count = later.length; count >= later.length; count--)',
    ],
    ['a field that nodes add is an unknown fork', "'sendCount', 'sendRoot', ", ''],
  ]),
  ...faultsIn('ingest/proof/receipts-root.ts', ROOT, [
    [
      'the type of a receipt is not part of its value',
      "return type === '0x' ? body : concat([type, body])",
      'return body',
    ],
    ['a deposit has no nonce', 'items, ...deposit]', 'items]'],
    [
      'receipts without the root are proven',
      '=== root ? receipts.length : undefined',
      '!== root ? receipts.length : receipts.length',
    ],
  ]),
  ...faultsIn('ingest/proof/bloom.ts', BLOOM, [
    ['an empty bloom says that a block has no log', " || /^0x0+$/.test(bloom)) return 'unknown'", ") return 'unknown'"],
    ['one bit of three suffices', 'return bitsOf(value).every(', 'return bitsOf(value).some('],
    [
      'the address is not looked for',
      "return topic && address ? 'maybe' : 'none'",
      "return topic ? 'maybe' : address ? 'none' : 'none'",
    ],
  ]),
  ...faultsIn('ingest/rpc/finality.ts', FINALITY, [
    [
      'a final block far below the head is believed',
      'if (head.number - number <= this.#maxLagBlocks && this',
      'if (this',
    ],
    ['a block is final at once', '- timestamp >= this.#minSeconds', '- timestamp >= 0'],
    [
      'a block that voices agree on is final at once',
      'if (!this.#isOld(agreed.timestamp, agreed.headTime)) continue',
      '',
    ],
    ['finality falls where a node restarts', 'if (number <= (this.#named?.number ?? -1)) return', ''],
    [
      'a block is final above the head of its node',
      'this.#named && this.#named.number <= head ? this.#named : undefined',
      'this.#named && head >= 0 ? this.#named : undefined',
    ],
    [
      'other voices are not asked',
      'if (!this.#agreeAt) this.#named = { number, hash }',
      'if (!this.#agreeAt || number > 0) this.#named = { number, hash }',
    ],
    ['one refusal proves that the tag is unknown', 'const MIN_REFUSALS = 3', 'const MIN_REFUSALS = 1'],
  ]),
  ...faultsIn('ingest/audit/audit-proof.ts', BLOCK, [
    [
      'receipts of another root are taken',
      'if (count === undefined) {',
      'if (count === undefined && receipts.length < 0) {',
    ],
    ['logs out of order are taken', 'if (!isInOrder) throw', 'if (!isInOrder && number < 0) throw'],
    [
      'one voice counts for two',
      '(voiceOf(other.client) !== voiceOf(one.client) && isSame(one, other))',
      'isSame(one, other)',
    ],
    ['two readings that differ agree', ' && isSame(one, other))', ')'],
  ]),
]
