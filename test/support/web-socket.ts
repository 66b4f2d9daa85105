/** The server's end of a WebSocket (RFC 6455) over Node's HTTP server: whole text frames both ways, which is all that viem's client needs. */
import { createHash } from 'node:crypto'
import type { Server } from 'node:http'
import type { Duplex } from 'node:stream'

export type WebSocketPeer = { send(text: string): void }

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const TEXT = 1
const CLOSE = 8

export function acceptWebSockets(
  server: Server,
  onText: (peer: WebSocketPeer, text: string) => void,
  onClose: (peer: WebSocketPeer) => void,
): void {
  server.on('upgrade', (request, socket: Duplex) => {
    const key = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64')
    const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
    socket.write([...head, `Sec-WebSocket-Accept: ${key}`, '', ''].join('\r\n'))
    const peer: WebSocketPeer = { send: (text) => socket.writable && socket.write(frameOf(Buffer.from(text))) }
    let received = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      for (let frame = firstFrame(received); frame; frame = firstFrame(received)) {
        received = received.subarray(frame.size)
        if (frame.opcode === CLOSE) socket.end()
        if (frame.opcode === TEXT) onText(peer, frame.payload.toString())
      }
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => onClose(peer))
  })
}

/** A server's frame is not masked. */
function frameOf(payload: Buffer): Buffer {
  const head = Buffer.alloc(payload.length < 126 ? 2 : 10)
  head[0] = 0x80 | TEXT
  if (payload.length < 126) head[1] = payload.length
  else {
    head[1] = 127
    head.writeBigUInt64BE(BigInt(payload.length), 2)
  }
  return Buffer.concat([head, payload])
}

/** A client's frame is masked; undefined until the whole of it is there. */
function firstFrame(bytes: Buffer): { opcode: number; payload: Buffer; size: number } | undefined {
  if (bytes.length < 2) return undefined
  const short = bytes.readUInt8(1) & 0x7f
  const start = short < 126 ? 2 : short === 126 ? 4 : 10
  if (bytes.length < start + 4) return undefined
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  const size = start + 4 + length
  if (bytes.length < size) return undefined
  const mask = bytes.subarray(start, start + 4)
  const payload = bytes.subarray(start + 4, size).map((byte, index) => byte ^ (mask[index % 4] ?? 0))
  return { opcode: bytes.readUInt8(0) & 0x0f, payload: Buffer.from(payload), size }
}
