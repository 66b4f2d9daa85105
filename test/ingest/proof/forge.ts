/** Changes of headers and receipts, each of which makes another block. */
import type { Hex } from 'viem'
import type { RawReceipt } from '../../../ingest/proof/receipts-root.ts'
import type { Random } from '../../simulation/random.ts'

/** Another digit at a random place. */
export function flipDigit(value: string, random: Random): Hex {
  const place = random.between(2, value.length - 1)
  const digit = (Number.parseInt(value[place] ?? '0', 16) + random.between(1, 15)) % 16
  return `${value.slice(0, place)}${digit.toString(16)}${value.slice(place + 1)}` as Hex
}

type Forgery = (receipts: readonly RawReceipt[], random: Random) => readonly RawReceipt[]

export const FORGERIES: Readonly<Record<string, Forgery>> = {
  'another status': (receipts, random) =>
    changed(receipts, random, (receipt) => ({ ...receipt, status: receipt.status === '0x1' ? '0x0' : '0x1' })),
  'more gas': (receipts, random) =>
    changed(receipts, random, (receipt) => ({
      ...receipt,
      cumulativeGasUsed: flipDigit(String(receipt.cumulativeGasUsed), random),
    })),
  'another type': (receipts, random) =>
    changed(receipts, random, (receipt) => ({ ...receipt, type: receipt.type === '0x3' ? '0x1' : '0x3' })),
  'another emitter': (receipts, random) =>
    withLogs(receipts, random, (logs, at) =>
      replaced(logs, at, (log) => ({ ...log, address: flipDigit(log.address, random) })),
    ),
  'other data': (receipts, random) =>
    withLogs(receipts, random, (logs, at) =>
      replaced(logs, at, (log) => ({ ...log, data: log.data === '0x' ? '0x00' : flipDigit(log.data, random) })),
    ),
  'another topic': (receipts, random) =>
    withLogs(receipts, random, (logs, at) =>
      replaced(logs, at, (log) => ({
        ...log,
        topics:
          log.topics.length === 0
            ? [`0x${'1'.repeat(64)}` as Hex]
            : log.topics.map((topic) => flipDigit(topic, random)),
      })),
    ),
  'a topic less': (receipts, random) =>
    withLogs(receipts, random, (logs, at) =>
      replaced(logs, at, (log) =>
        log.topics.length === 0 ? { ...log, data: '0x1234' } : { ...log, topics: log.topics.slice(1) },
      ),
    ),
  'a log less': (receipts, random) => withLogs(receipts, random, (logs, at) => logs.filter((_, index) => index !== at)),
  'a log more': (receipts, random) =>
    withLogs(receipts, random, (logs, at) => logs.flatMap((log, index) => (index === at ? [log, log] : [log]))),
  'a receipt less': (receipts, random) => {
    // Without its last one a list may be of a block with a receipt that is beside the root.
    const at = random.between(0, receipts.length - 2)
    return receipts.filter((_, index) => index !== at)
  },
  'a receipt twice': (receipts, random) => {
    const at = random.between(0, receipts.length - 2)
    return receipts.flatMap((receipt, index) => (index === at ? [receipt, receipt] : [receipt]))
  },
  'two receipts in the other order': (receipts, random) => {
    const at = random.between(0, receipts.length - 2)
    const [one, other] = [receipts[at] as RawReceipt, receipts[at + 1] as RawReceipt]
    return receipts.map((receipt, index) => (index === at ? other : index === at + 1 ? one : receipt))
  },
}

function changed(receipts: readonly RawReceipt[], random: Random, change: (receipt: RawReceipt) => RawReceipt) {
  const at = random.between(0, receipts.length - 1)
  return receipts.map((receipt, index) => (index === at ? change(receipt) : receipt))
}

function withLogs(
  receipts: readonly RawReceipt[],
  random: Random,
  change: (logs: RawReceipt['logs'], at: number) => RawReceipt['logs'],
) {
  const places = receipts.flatMap(({ logs }, index) => (logs.length > 0 ? [index] : []))
  const [first = 0, ...others] = places
  const at = random.pick([first, ...others])
  return receipts.map((receipt, index) =>
    index === at ? { ...receipt, logs: change(receipt.logs, random.between(0, receipt.logs.length - 1)) } : receipt,
  )
}

function replaced(
  logs: RawReceipt['logs'],
  at: number,
  change: (log: RawReceipt['logs'][number]) => RawReceipt['logs'][number],
) {
  return logs.map((log, index) => (index === at ? change(log) : log))
}
