/** One WebSocket as viem's JSON-RPC client takes it. viem's own takes no headers and no proxy, and has no HTTP status on newer versions of Node. */
import { SocketClosedError, WebSocketRequestError } from 'viem'
import { getSocketRpcClient, type SocketRpcClient } from 'viem/utils'
import WebSocket from 'ws'
import { headersFor } from '../config/rpc-access.ts'
import { TooManyParts } from '../lib/bounded-json.ts'
import { tunnelFor } from './agents.ts'
import { bytesFor, NOTICE_BYTES } from './answer-limits.ts'
import { malformed } from './call.ts'
import type { EndpointAddress } from './http-post.ts'
import { readAnswer } from './read-answer.ts'

/** The limit of a message follows from the requests under way, once it is whole. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
const KEEP_ALIVE_MS = 30_000
let dialled = 0

/** Opens a connection, or rejects with the error of the socket. */
export function dial(address: EndpointAddress): Promise<SocketRpcClient<WebSocket>> {
  dialled += 1
  return getSocketRpcClient<WebSocket>({
    // viem shares connections by this text, and quotes it in errors: each has its own, without a key.
    url: `${address.name} ${dialled}`,
    reconnect: false,
    keepAlive: { interval: KEEP_ALIVE_MS },
    async getSocket({ onClose, onError, onOpen, onResponse }) {
      const socket = open(address)
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
      onOpen()
      socket.on('error', onError)
      socket.on('close', onClose)
      /** By the id of each request under way: the bytes that its answer may have. */
      const expected = new Map<unknown, number>()
      socket.on('message', (data: Buffer) => {
        try {
          const answer = answerIn(data, Math.max(NOTICE_BYTES, ...expected.values()), address.name)
          expected.delete(answer.id)
          onResponse(answer as never)
        } catch (error) {
          onError(error as Error)
          socket.terminate()
        }
      })
      const { close } = socket
      const send = (body: Record<string, unknown>) => {
        if (socket.readyState !== WebSocket.OPEN) {
          const url = address.name
          throw new WebSocketRequestError({ body, url, cause: new SocketClosedError({ url }) })
        }
        socket.send(JSON.stringify(body))
      }
      return Object.assign(socket, {
        close() {
          close.call(socket)
          onClose()
        },
        ping() {
          if (socket.readyState === WebSocket.OPEN)
            send({ jsonrpc: '2.0', id: null, method: 'net_version', params: [] })
        },
        request({ body }: { body: { id?: unknown; method: string } }) {
          expected.set(body.id, bytesFor(body))
          send({ ...body })
        },
      })
    },
  })
}

/** Redirects are not followed: the headers hold keys. */
function open({ url: text, timeoutMs, access }: EndpointAddress): WebSocket {
  const url = new URL(text)
  const agent = tunnelFor(url, access)
  const headers = { 'user-agent': 'candlepool', ...headersFor(url, access.headers) }
  const limits = { maxPayload: MAX_MESSAGE_BYTES, handshakeTimeout: timeoutMs, followRedirects: false }
  return new WebSocket(url, { ...limits, headers, ...(agent && { agent }) })
}

type SocketMessage = { id?: unknown }

/** Throws where it is no message of JSON-RPC, or longer than its limit. */
function answerIn(data: Buffer, maxBytes: number, name: string): SocketMessage {
  const refused = (why: string) => malformed(`The node's message is refused: ${why}`, name, { isFault: true })
  if (data.length > maxBytes) throw refused(`it is longer than ${maxBytes} bytes.`)
  const answer = parsed(data, refused) as SocketMessage | null
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) throw refused('it is no object.')
  const { id } = answer
  // Some gateways send ids as texts.
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? { ...answer, id: Number(id) } : answer
}

function parsed(data: Buffer, refused: (why: string) => Error): unknown {
  try {
    return readAnswer(data)
  } catch (error) {
    throw refused(error instanceof TooManyParts ? error.message : 'it is not JSON.')
  }
}
