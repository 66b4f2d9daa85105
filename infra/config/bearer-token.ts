/** SASL OAUTHBEARER (RFC 7628). The mechanism of kafkajs drops the broker's refusal, so that its client would only see a closed connection. */
import kafkajs, { type Mechanism } from 'kafkajs'

/** The broker's answer to a token that it does not accept. Its `type` is read as Kafka's error codes are. */
class TokenRefused extends kafkajs.KafkaJSNonRetriableError {
  readonly type = 'SASL_TOKEN_REFUSED'
}

/** Tokens expire: `read` is called for each new connection. */
export function bearerToken(read: () => Promise<string>): Mechanism {
  return {
    mechanism: 'oauthbearer',
    authenticationProvider: ({ saslAuthenticate }) => ({
      async authenticate() {
        const token = (await read()).trim()
        const refusal = await saslAuthenticate({
          request: { encode: () => withLength(Buffer.from(`n,,\x01auth=Bearer ${token}\x01\x01`)) },
          response: { decode: (answer) => answer.subarray(4), parse: (bytes) => bytes.toString() },
        })
        // An accepted token is answered without a text, a refused one with a JSON object.
        if (refusal) throw new TokenRefused('The broker does not accept the token.')
      },
    }),
  }
}

/** As kafkajs expects the bytes: after their number. */
function withLength(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
