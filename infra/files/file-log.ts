/** A log as the bytes of its row: nearly all are swaps, whose words are read without a text. */
import type { Address, Hash, Hex } from 'viem'
import { RepeatedBytes } from '../../ingest/lib/hex-bytes.ts'
import type { LogBytes, RpcLog } from '../../ingest/rpc/rpc.ts'
import { hexOf, type RowReader } from './binary-rows.ts'

const ADDRESS_BYTES = 20
const WORD_BYTES = 32

const addresses = new RepeatedBytes(ADDRESS_BYTES)
const topics = new RepeatedBytes(WORD_BYTES)

export class FileLog implements RpcLog {
  /** The reader sets them from the header of the block. */
  blockNumber: Hex = '0x'
  blockHash: Hash = '0x'
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly logIndex: Hex
  readonly bytes: LogBytes
  readonly #memory: Buffer

  /** Reads its values from a row, in the order of file_logs.sql. */
  constructor(row: RowReader, logIndex: number) {
    const { at: transactionHash } = row.bytes()
    this.address = row.repeated(addresses)
    const found: Hex[] = []
    for (let place = 0; place < 4; place++) {
      const topic = row.repeatedOrNull(topics)
      if (topic !== null) found.push(topic)
    }
    this.topics = found
    this.logIndex = `0x${logIndex.toString(16)}`
    const data = row.bytes()
    this.bytes = { view: data.view, transactionHash, data: data.at, dataLength: data.length }
    this.#memory = data.bytes
  }

  /** A row with a hash of another length has a fault, and its log is not read. */
  get transactionHash(): Hash {
    return hexOf(this.#memory, this.bytes.transactionHash, WORD_BYTES)
  }

  get data(): Hex {
    return hexOf(this.#memory, this.bytes.data, this.bytes.dataLength)
  }
}
