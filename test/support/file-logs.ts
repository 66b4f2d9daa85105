/** Logs as the rows of a file. */
import { ROW_MARK, RowReader } from '../../infra/files/binary-rows.ts'
import { FileLog } from '../../infra/files/file-log.ts'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'

/** Logs as they are read from a file; one that no file can have stays as it is. */
export function asFileLogs(logs: readonly RpcLog[]): RpcLog[] {
  const written = logs.filter(isWritable)
  const indexes = written.map(({ logIndex }) => Number(logIndex)).values()
  const { rows } = new RowReader().rowsOf(
    Buffer.concat(written.map(rowOf)),
    (row) => new FileLog(row, indexes.next().value ?? 0),
  )
  const byLog = new Map(
    written.map((log, index) => {
      const { blockNumber, blockHash } = log
      return [log, Object.assign(rows[index] as FileLog, { blockNumber, blockHash })]
    }),
  )
  return logs.map((log) => byLog.get(log) ?? log)
}

function isWritable({ address, topics, data, transactionHash }: RpcLog): boolean {
  const isHex = (text: string, bytes: number) => text.length === 2 + 2 * bytes && /^0x[0-9a-f]*$/i.test(text)
  return (
    isHex(address, 20) &&
    isHex(transactionHash, 32) &&
    topics.every((topic) => isHex(topic, 32)) &&
    isHex(data, data.length / 2 - 1)
  )
}

/** In the order of file_logs.sql, without its numbers and its fault. */
function rowOf({ address, topics, data, transactionHash }: RpcLog): Buffer {
  const string = (hex: string) => {
    const bytes = Buffer.from(hex.slice(2), 'hex')
    const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7]
    return [Buffer.from(length), bytes]
  }
  const places = Array.from({ length: 4 }, (_, place) => {
    const topic = topics[place]
    return topic === undefined ? [Buffer.from([1])] : [Buffer.from([0]), ...string(topic)]
  })
  return Buffer.concat([
    Buffer.from([ROW_MARK]),
    ...string(transactionHash),
    ...string(address),
    ...places.flat(),
    ...string(data),
  ])
}
