/** Generated from /v0/openapi.json: `npm test -- test/api/schema/reference -u` updates it. */
// biome-ignore-all format: generated
// biome-ignore-all lint: generated
export interface paths {
    "/v0/candles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * OHLCV candles of a pair or a pool
         * @description Candles begin at multiples of the interval and are never cut to the range; one counts where it starts in the range. The one in progress changes with every trade. A pool without trades in the range answers with an empty list. With `Accept: text/event-stream` and without `to`, the answer stays open: the events `snapshot`, `candle` or `tick`, `retract`, `tip` and `error`, each with an `id` by which the header `Last-Event-ID` resumes. `pool` may be repeated then. A further minute costs 1. With `Accept: text/csv` or `application/x-ndjson` the answer is its bare rows, and `X-Credits-Used` is the cost.
         */
        get: operations["candles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v0/pools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The pools of a pair, or one pool, on all networks
         * @description At most 100, by `totalValueLockedUSD`, the most valuable first; `X-Market-More-Pools` says how many more there are. A pair that nothing trades has an empty list.
         */
        get: operations["pools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v0/ticks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Swaps, one by one
         * @description Swaps of one block share a second, so the next page of a long history ends one second after the oldest swap of the last one, and known ids are dropped. With `Accept: text/event-stream` and without `to`, the answer stays open: the events `snapshot`, `candle` or `tick`, `retract`, `tip` and `error`, each with an `id` by which the header `Last-Event-ID` resumes. `pool` may be repeated then. A further minute costs 1. With `Accept: text/csv` or `application/x-ndjson` the answer is its bare rows, and `X-Credits-Used` is the cost.
         */
        get: operations["ticks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v0/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Credits and calls of the key
         * @description Answered when all credits are used, too.
         */
        get: operations["usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v0/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How far each network is stored
         * @description Needs no key.
         */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description What was traded in one interval. */
        Candle: {
            /**
             * Format: date-time
             * @description The start of the candle.
             * @example 2024-01-05T00:00:00Z
             */
            time: string;
            /** @description The price of the first trade; in a candle without one, the close before. */
            open: number;
            high: number;
            low: number;
            close: number;
            /** @description In the second token of the pair. */
            volume: number;
        };
        Candles: {
            /** @description Ascending in time. */
            data: components["schemas"]["Candle"][];
            /** @description What the answer cost. */
            credits_used: number;
            warning?: components["schemas"]["Warning"];
        };
        /** @description There where `symbol` is asked for: a pool address costs less. */
        Warning: {
            /** @description Names the pool that answered, and its own order. */
            message: string;
            /**
             * Format: uri
             * @description How to use fewer credits.
             */
            documentation_url: string;
            tip: string;
        };
        /** @description A pool, its tokens in the order on chain. */
        Pool: {
            /** @description A v3 address or a v4 pool id. */
            id: string;
            /** @enum {string} */
            network: "ethereum" | "arbitrum" | "polygon" | "base" | "optimism";
            /** @enum {string} */
            protocolVersion: "dex-v3" | "dex-v4";
            /** @description In hundredths of a basis point. Where it is dynamic, that of the last swap. */
            feeTier: string;
            /** @description In range, now. */
            liquidity: string;
            /** @description √(token1/token0) of raw units, times 2^96. */
            sqrtPrice: string;
            /** @description Since the first block that is stored. */
            volumeUSD: string;
            /** @description Swaps and changes of liquidity since the first block that is stored. */
            txCount: string;
            totalValueLockedUSD: string;
            token0: components["schemas"]["Token"];
            token1: components["schemas"]["Token"];
            /** @description With `include=market`: of token0 in token1, whichever direction `symbol` names, of the last trade, as its taker paid it, fee included; null before the first. */
            price?: number | null;
            /** @description With `include=market`: that of the price, 0.01 is 1 %; null where there was none 24 hours ago. */
            change24h?: number | null;
            /** @description With `include=market`: over the last 24 hours. */
            volumeUSD24h?: string;
            /**
             * Format: date-time
             * @description With `include=market`: the time of the first block that is stored of it.
             * @example 2024-01-05T00:00:00Z
             */
            firstSeen?: string;
            /**
             * @description With `include=market`: the exchange whose factory made the pool.
             * @enum {string}
             */
            venue?: "uniswap" | "sushi" | "pancake" | "slipstream" | "algebra";
        };
        Pools: {
            /** @description Of all networks, most valuable first. */
            data: components["schemas"]["Pool"][];
            /** @description What the answer cost. */
            credits_used: number;
        };
        Token: {
            symbol: string;
            name: string;
            address: string;
            decimals?: number;
        };
        /** @description One swap, as its taker saw it. */
        Tick: {
            /** @description The transaction and the log index. */
            id: string;
            /**
             * Format: date-time
             * @description That of the block.
             * @example 2024-01-05T00:00:00Z
             */
            timestamp: string;
            /** @description Of token0 in token1. */
            price: number;
            /**
             * @description `buy` where the taker received token0; where that did not move, token1 decides, and `buy` where neither moved.
             * @enum {string}
             */
            side: "buy" | "sell";
            /** @description What the taker received of token0 from the pool; negative where it was paid. What a hook took or gave beside is not in it. */
            amount0: string;
            /** @description What the taker received of token1 from the pool; negative where it was paid. What a hook took or gave beside is not in it. */
            amount1: string;
            /** @description 0 where neither token has a price. */
            amountUSD: number;
            /** @description The first symbol of the pair. */
            token0: string;
            /** @description The second symbol of the pair. */
            token1: string;
            /** @description With `include=position`: the number of its block. */
            block?: number;
            /** @description With `include=position`: its place among the logs of the block. */
            logIndex?: number;
            /** @description With `include=sender`: the contract or account that called the pool, most often a router; null in rows of versions that did not keep it. */
            sender?: string | null;
        };
        Ticks: {
            /** @description Ascending by block, and by log index within a block. */
            data: components["schemas"]["Tick"][];
            /** @description What the answer cost. */
            credits_used: number;
        };
        Usage: {
            credits: {
                minute: {
                    used: number;
                    limit: number;
                    remaining: number;
                    /**
                     * Format: date-time
                     * @example 2024-01-05T00:00:00Z
                     */
                    reset_at: string;
                };
                month: {
                    used: number;
                    limit: number;
                    remaining: number;
                    /**
                     * Format: date-time
                     * @example 2024-01-05T00:00:00Z
                     */
                    reset_at: string;
                    /** @description null where calendar months count. */
                    billing_period_start: string | null;
                };
            };
            /** @description Every request with a good key is a call, whatever becomes of it. */
            api_calls: {
                minute: {
                    used: number;
                };
                month: {
                    used: number;
                };
            };
            subscription_plan: string;
        };
        Health: {
            /**
             * @description degraded: a network has a `reason`; all that is stored is answered.
             * @enum {string}
             */
            status: "ok" | "degraded";
            networks: {
                /** @enum {string} */
                network: "ethereum" | "arbitrum" | "polygon" | "base" | "optimism";
                /** @description true: a stand-in chain, whose trades are made up. */
                devnet: boolean;
                /** @description The newest block that is stored. */
                tip: {
                    number: number;
                    hash: string;
                    /**
                     * Format: date-time
                     * @example 2024-01-05T00:00:00Z
                     */
                    time: string;
                } | null;
                lag_seconds: number | null;
                /** @description Which stages stand still until the operator acts: no newer block is stored. null: none. */
                halted: {
                    stages: ("listener" | "aggregator")[];
                    /**
                     * Format: date-time
                     * @example 2024-01-05T00:00:00Z
                     */
                    since: string;
                } | null;
                /** @description Why the network is not read or stored as it should be: nothing is stored, its endpoint refuses, it is late, stalled or halted. null: nothing is wrong. */
                reason: string | null;
            }[];
        };
        FieldError: {
            field: string;
            message: string;
        };
        /** @description A problem document of RFC 9457, with a code and a request id. */
        Problem: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            status: number;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "bad_request" | "invalid_parameters" | "unauthorized" | "not_found" | "unknown_pool" | "unknown_symbol" | "no_pool" | "method_not_allowed" | "request_timeout" | "uri_too_long" | "too_many_failures" | "minute_credits_exceeded" | "month_credits_exceeded" | "too_many_streams" | "headers_too_large" | "internal" | "store_unavailable" | "nothing_stored" | "stream_ended" | "overloaded";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description A problem of the status 400. */
        Problem400: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            /** @constant */
            status: 400;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "bad_request" | "invalid_parameters";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description A problem of the status 401. */
        Problem401: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            /** @constant */
            status: 401;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "unauthorized";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description A problem of the status 404. */
        Problem404: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            /** @constant */
            status: 404;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "not_found" | "unknown_pool" | "unknown_symbol" | "no_pool";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description A problem of the status 405. */
        Problem405: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            /** @constant */
            status: 405;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "method_not_allowed";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description A problem of the status 408. */
        Problem408: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            /** @constant */
            status: 408;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "request_timeout";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description A problem of the status 414. */
        Problem414: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            /** @constant */
            status: 414;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "uri_too_long";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description A problem of the status 429. */
        Problem429: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            /** @constant */
            status: 429;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "too_many_failures" | "minute_credits_exceeded" | "month_credits_exceeded" | "too_many_streams";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description A problem of the status 431. */
        Problem431: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            /** @constant */
            status: 431;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "headers_too_large";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description A problem of the status 500. */
        Problem500: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            /** @constant */
            status: 500;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "internal";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description A problem of the status 503. */
        Problem503: {
            /** @description Where to read about the code. */
            type: string;
            title: string;
            /** @constant */
            status: 503;
            /** @description The same as `message`. */
            detail: string;
            /** @enum {string} */
            code: "store_unavailable" | "nothing_stored" | "stream_ended" | "overloaded";
            /** @description What happened, and what to do. */
            message: string;
            /**
             * Format: uuid
             * @description The same as the header X-Request-Id.
             */
            request_id: string;
            /** @description Every bad parameter with its rule. */
            errors?: components["schemas"]["FieldError"][];
        };
    };
    responses: {
        /** @description `not_found`: There is no such path. */
        NotFound: {
            headers: {
                /** @description Identifies this request: quote it in a report to the operator. */
                "X-Request-Id": string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem404"];
            };
        };
        /** @description `method_not_allowed`: Only GET and HEAD ask here. */
        MethodNotAllowed: {
            headers: {
                /** @description Identifies this request: quote it in a report to the operator. */
                "X-Request-Id": string;
                /** @description The allowed methods. */
                Allow: string;
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem405"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    candles: {
        parameters: {
            query: {
                /** @description The pair: `A-B` is the price of A in B, whatever the order on chain, in any letter case. `ETH` is WETH and native ether alike. Its lead pool answers, or the one that `pool` names. One of `symbol` and `pool` is required. It must be two different token symbols joined by a hyphen, such as WETH-USDC. */
                symbol?: string;
                /** @description The pool, in any letter case. Answers are in its own order, token1 per token0, or in that of `symbol` where both are given: `symbol` has to name the tokens of the pool then. It must be a pool address (0x and 40 hex digits) or a v4 pool id (0x and 64 hex digits). */
                pool?: string;
                /** @description The width of a candle. Candles begin at multiples of it, counted from 1970. It must be a whole number and a unit (s, m, h or d), at most 1d in all: 45s, 7m, 4h, 1d. */
                interval: string;
                /** @description The start of the range: at it or later. `limit` intervals before `to` if not given. It must be an RFC 3339 time such as 2024-01-05T00:00:00Z or 2024-01-05T01:00:00.5+01:00, or a date such as 2024-01-05. */
                from?: string;
                /** @description The end of the range: before it, not at it. Now if not given. It must be an RFC 3339 time such as 2024-01-05T00:00:00Z or 2024-01-05T01:00:00.5+01:00, or a date such as 2024-01-05. */
                to?: string;
                /** @description How many rows at most; those are kept that are newest. It must be a whole number from 1 to 100. */
                limit?: number;
                /** @description Where to look. If not given, on Ethereum, and where that has no trade in the range on Arbitrum and Polygon as well. It must be a comma-separated list of ethereum, arbitrum, polygon, base, optimism. */
                networks?: string;
                /** @description `execution` is what the taker paid, fee included; `spot` is where the swap left the pool. */
                price?: "execution" | "spot";
                /** @description Candles without a trade: `previous` carries the last close forward with volume 0, never before the first stored trade and never past what is stored; `none` leaves them out. */
                fill?: "previous" | "none";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OHLCV candles of a pair or a pool */
            200: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Whether the answer may be kept. */
                    "Cache-Control": string;
                    /** @description The network of the pool that answered. */
                    "X-Market-Network": string;
                    /** @description The id of the pool that answered. */
                    "X-Market-Pool": string;
                    /** @description The exchange whose factory made that pool. */
                    "X-Market-Venue": string;
                    /** @description The pair as answered; characters beyond ASCII are percent-encoded. */
                    "X-Market-Pair": string;
                    /** @description Present where the pool with most volume does not answer a symbol: `deviating-price` (its prices in the range are more than 1 % from those of the pair) or `unheld-volume` (its volume is more than what it held over the day, and another counts for more), and its id, as `reason; passed-over=id`. */
                    "X-Market-Lead"?: string;
                    /** @description Present where parts of the range are not stored: `from/to` of each, oldest first, separated by commas. */
                    "X-Market-Incomplete"?: string;
                    /** @description Present where the endpoints of the network answer different logs of blocks in the range, and none of them proves its own: `from/to` of each block, likewise. They are asked again every ten minutes. */
                    "X-Market-Unproven"?: string;
                    /** @description Present where the chain says what is final: a reorg cannot change a tick before this time, nor a candle that ends by it. */
                    "X-Market-Final-Until"?: string;
                    /** @description `true` where the chain is a local stand-in: its trades are made up. */
                    "X-Candlepool-Devnet"?: "true";
                    /** @description Present where the answer is bare rows: what it cost. */
                    "X-Credits-Used"?: string;
                    /** @description Present where the range is complete: send it back in `If-None-Match`. A 304 costs what its 200 costs. */
                    ETag?: string;
                    /** @description Present where the query has `symbol`: the query by pool that costs fewer credits. */
                    "X-API-Suggestion"?: string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Candles"];
                };
            };
            /** @description The answer is still the one that `If-None-Match` names. */
            304: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Whether the answer may be kept. */
                    "Cache-Control": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description `bad_request`: Not a well-formed request.
             *
             *     `invalid_parameters`: `errors` lists every bad parameter with its rule.
             */
            400: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem400"];
                };
            };
            /** @description `unauthorized`: Send one header `X-API-KEY` with a good key. */
            401: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description How to authenticate. */
                    "WWW-Authenticate": string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem401"];
                };
            };
            /**
             * @description `unknown_pool`: The pool is not known on the networks asked.
             *
             *     `unknown_symbol`: A token of the pair is not known.
             *
             *     `no_pool`: Both tokens are known, but no pool trades them.
             */
            404: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem404"];
                };
            };
            /** @description `uri_too_long`: The address is too long. */
            414: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem414"];
                };
            };
            /**
             * @description `too_many_failures`: Too many requests from this address had no good key. `Retry-After` says how long to wait.
             *
             *     `minute_credits_exceeded`: No credits are left in this minute. `Retry-After` says when there are.
             *
             *     `month_credits_exceeded`: No credits are left in this month. `Retry-After` says when there are.
             *
             *     `too_many_streams`: The key has as many open streams as its plan allows: close one first.
             */
            429: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Seconds to wait before the next request. */
                    "Retry-After": number;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem429"];
                };
            };
            /** @description `headers_too_large`: The header fields are too large. */
            431: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem431"];
                };
            };
            /** @description `internal`: Our fault: tell the operator the `request_id`. */
            500: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem500"];
                };
            };
            /**
             * @description `store_unavailable`: The store does not answer at the moment. Ask again after `Retry-After`.
             *
             *     `overloaded`: Too many questions at once. Ask again after `Retry-After`.
             *
             *     `nothing_stored`: Nothing is stored yet of the networks asked. Ask again after `Retry-After`; `/v0/health` says how far they are.
             *
             *     `stream_ended`: Only the last event of a stream: the server stops, or the reader is too slow. Open it again with `Last-Event-ID`.
             */
            503: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Seconds to wait before the next request. */
                    "Retry-After": number;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem503"];
                };
            };
        };
    };
    pools: {
        parameters: {
            query?: {
                /** @description The pair, in either order and any letter case. `ETH` is WETH and native ether alike. One of `symbol` and `pool` is required. It must be two different token symbols joined by a hyphen, such as WETH-USDC. */
                symbol?: string;
                /** @description One pool, on each network that has it. It must be a pool address (0x and 40 hex digits) or a v4 pool id (0x and 64 hex digits). */
                pool?: string;
                /** @description Fields that each row has after the others, at no cost: `market` adds `price`, `change24h`, `volumeUSD24h`, `firstSeen`, `venue`. It must be a comma-separated list of market, each at most once. */
                include?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The pools of a pair, or one pool, on all networks */
            200: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Whether the answer may be kept. */
                    "Cache-Control": string;
                    /** @description Present where the pair has a pool: `network/id` of the one that leads it on all networks over the last 24 hours. The most valuable pool may have a price of its own. */
                    "X-Market-Lead-Pool"?: string;
                    /** @description Present where the pair has more pools than the answer: how many, all of them worth no more than its last one. */
                    "X-Market-More-Pools"?: number;
                    /** @description `true` where the chain is a local stand-in: its trades are made up. */
                    "X-Candlepool-Devnet"?: "true";
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pools"];
                };
            };
            /** @description The answer is still the one that `If-None-Match` names. */
            304: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Whether the answer may be kept. */
                    "Cache-Control": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description `bad_request`: Not a well-formed request.
             *
             *     `invalid_parameters`: `errors` lists every bad parameter with its rule.
             */
            400: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem400"];
                };
            };
            /** @description `unauthorized`: Send one header `X-API-KEY` with a good key. */
            401: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description How to authenticate. */
                    "WWW-Authenticate": string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem401"];
                };
            };
            /** @description `unknown_pool`: The pool is not known on the networks asked. */
            404: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem404"];
                };
            };
            /** @description `uri_too_long`: The address is too long. */
            414: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem414"];
                };
            };
            /**
             * @description `too_many_failures`: Too many requests from this address had no good key. `Retry-After` says how long to wait.
             *
             *     `minute_credits_exceeded`: No credits are left in this minute. `Retry-After` says when there are.
             *
             *     `month_credits_exceeded`: No credits are left in this month. `Retry-After` says when there are.
             */
            429: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Seconds to wait before the next request. */
                    "Retry-After": number;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem429"];
                };
            };
            /** @description `headers_too_large`: The header fields are too large. */
            431: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem431"];
                };
            };
            /** @description `internal`: Our fault: tell the operator the `request_id`. */
            500: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem500"];
                };
            };
            /**
             * @description `store_unavailable`: The store does not answer at the moment. Ask again after `Retry-After`.
             *
             *     `overloaded`: Too many questions at once. Ask again after `Retry-After`.
             *
             *     `nothing_stored`: Nothing is stored yet of the networks asked. Ask again after `Retry-After`; `/v0/health` says how far they are.
             */
            503: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Seconds to wait before the next request. */
                    "Retry-After": number;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem503"];
                };
            };
        };
    };
    ticks: {
        parameters: {
            query?: {
                /** @description The pair: `A-B` is the price of A in B, whatever the order on chain, in any letter case. `ETH` is WETH and native ether alike. Its lead pool answers, or the one that `pool` names. One of `symbol` and `pool` is required. It must be two different token symbols joined by a hyphen, such as WETH-USDC. */
                symbol?: string;
                /** @description The pool, in any letter case. Answers are in its own order, token1 per token0, or in that of `symbol` where both are given: `symbol` has to name the tokens of the pool then. It must be a pool address (0x and 40 hex digits) or a v4 pool id (0x and 64 hex digits). */
                pool?: string;
                /** @description The start of the range: at it or later. An hour before `to` if not given. It must be an RFC 3339 time such as 2024-01-05T00:00:00Z or 2024-01-05T01:00:00.5+01:00, or a date such as 2024-01-05. */
                from?: string;
                /** @description The end of the range: before it, not at it. Now if not given. It must be an RFC 3339 time such as 2024-01-05T00:00:00Z or 2024-01-05T01:00:00.5+01:00, or a date such as 2024-01-05. */
                to?: string;
                /** @description How many rows at most; those are kept that are newest. It must be a whole number from 1 to 1000. */
                limit?: number;
                /** @description Where to look. If not given, on Ethereum, and where that has no trade in the range on Arbitrum and Polygon as well. It must be a comma-separated list of ethereum, arbitrum, polygon, base, optimism. */
                networks?: string;
                /** @description `execution` is what the taker paid, fee included; `spot` is where the swap left the pool. */
                price?: "execution" | "spot";
                /** @description Fields that each row has after the others, at no cost: `position` adds `block`, `logIndex`; `sender` adds `sender`. It must be a comma-separated list of position, sender, each at most once. */
                include?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Swaps, one by one */
            200: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Whether the answer may be kept. */
                    "Cache-Control": string;
                    /** @description The network of the pool that answered. */
                    "X-Market-Network": string;
                    /** @description The id of the pool that answered. */
                    "X-Market-Pool": string;
                    /** @description The exchange whose factory made that pool. */
                    "X-Market-Venue": string;
                    /** @description The pair as answered; characters beyond ASCII are percent-encoded. */
                    "X-Market-Pair": string;
                    /** @description Present where the pool with most volume does not answer a symbol: `deviating-price` (its prices in the range are more than 1 % from those of the pair) or `unheld-volume` (its volume is more than what it held over the day, and another counts for more), and its id, as `reason; passed-over=id`. */
                    "X-Market-Lead"?: string;
                    /** @description Present where parts of the range are not stored: `from/to` of each, oldest first, separated by commas. */
                    "X-Market-Incomplete"?: string;
                    /** @description Present where the endpoints of the network answer different logs of blocks in the range, and none of them proves its own: `from/to` of each block, likewise. They are asked again every ten minutes. */
                    "X-Market-Unproven"?: string;
                    /** @description Present where the chain says what is final: a reorg cannot change a tick before this time, nor a candle that ends by it. */
                    "X-Market-Final-Until"?: string;
                    /** @description `true` where the chain is a local stand-in: its trades are made up. */
                    "X-Candlepool-Devnet"?: "true";
                    /** @description Present where the answer is bare rows: what it cost. */
                    "X-Credits-Used"?: string;
                    /** @description Present where the range is complete: send it back in `If-None-Match`. A 304 costs what its 200 costs. */
                    ETag?: string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ticks"];
                };
            };
            /** @description The answer is still the one that `If-None-Match` names. */
            304: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Whether the answer may be kept. */
                    "Cache-Control": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description `bad_request`: Not a well-formed request.
             *
             *     `invalid_parameters`: `errors` lists every bad parameter with its rule.
             */
            400: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem400"];
                };
            };
            /** @description `unauthorized`: Send one header `X-API-KEY` with a good key. */
            401: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description How to authenticate. */
                    "WWW-Authenticate": string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem401"];
                };
            };
            /**
             * @description `unknown_pool`: The pool is not known on the networks asked.
             *
             *     `unknown_symbol`: A token of the pair is not known.
             *
             *     `no_pool`: Both tokens are known, but no pool trades them.
             */
            404: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem404"];
                };
            };
            /** @description `uri_too_long`: The address is too long. */
            414: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem414"];
                };
            };
            /**
             * @description `too_many_failures`: Too many requests from this address had no good key. `Retry-After` says how long to wait.
             *
             *     `minute_credits_exceeded`: No credits are left in this minute. `Retry-After` says when there are.
             *
             *     `month_credits_exceeded`: No credits are left in this month. `Retry-After` says when there are.
             *
             *     `too_many_streams`: The key has as many open streams as its plan allows: close one first.
             */
            429: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Seconds to wait before the next request. */
                    "Retry-After": number;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem429"];
                };
            };
            /** @description `headers_too_large`: The header fields are too large. */
            431: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem431"];
                };
            };
            /** @description `internal`: Our fault: tell the operator the `request_id`. */
            500: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem500"];
                };
            };
            /**
             * @description `store_unavailable`: The store does not answer at the moment. Ask again after `Retry-After`.
             *
             *     `overloaded`: Too many questions at once. Ask again after `Retry-After`.
             *
             *     `nothing_stored`: Nothing is stored yet of the networks asked. Ask again after `Retry-After`; `/v0/health` says how far they are.
             *
             *     `stream_ended`: Only the last event of a stream: the server stops, or the reader is too slow. Open it again with `Last-Event-ID`.
             */
            503: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Seconds to wait before the next request. */
                    "Retry-After": number;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem503"];
                };
            };
        };
    };
    usage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Credits and calls of the key */
            200: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Whether the answer may be kept. */
                    "Cache-Control": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
            /** @description The answer is still the one that `If-None-Match` names. */
            304: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Whether the answer may be kept. */
                    "Cache-Control": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `bad_request`: Not a well-formed request. */
            400: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem400"];
                };
            };
            /** @description `unauthorized`: Send one header `X-API-KEY` with a good key. */
            401: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description How to authenticate. */
                    "WWW-Authenticate": string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem401"];
                };
            };
            /** @description `uri_too_long`: The address is too long. */
            414: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem414"];
                };
            };
            /** @description `too_many_failures`: Too many requests from this address had no good key. `Retry-After` says how long to wait. */
            429: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Seconds to wait before the next request. */
                    "Retry-After": number;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem429"];
                };
            };
            /** @description `headers_too_large`: The header fields are too large. */
            431: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem431"];
                };
            };
            /** @description `internal`: Our fault: tell the operator the `request_id`. */
            500: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem500"];
                };
            };
            /**
             * @description `store_unavailable`: The store does not answer at the moment. Ask again after `Retry-After`.
             *
             *     `overloaded`: Too many questions at once. Ask again after `Retry-After`.
             */
            503: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Seconds to wait before the next request. */
                    "Retry-After": number;
                    /** @description Present for a valid key: the credits left in each window after this answer, and the seconds until its end. */
                    RateLimit?: string;
                    /** @description Present for a valid key: the credits of each window, and its length in seconds. */
                    "RateLimit-Policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem503"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How far each network is stored */
            200: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Whether the answer may be kept. */
                    "Cache-Control": string;
                    /** @description `true` where the chain is a local stand-in: its trades are made up. */
                    "X-Candlepool-Devnet"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description The answer is still the one that `If-None-Match` names. */
            304: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Whether the answer may be kept. */
                    "Cache-Control": string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `bad_request`: Not a well-formed request. */
            400: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem400"];
                };
            };
            /** @description `uri_too_long`: The address is too long. */
            414: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem414"];
                };
            };
            /** @description `headers_too_large`: The header fields are too large. */
            431: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem431"];
                };
            };
            /** @description `internal`: Our fault: tell the operator the `request_id`. */
            500: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem500"];
                };
            };
            /**
             * @description `store_unavailable`: The store does not answer at the moment. Ask again after `Retry-After`.
             *
             *     `overloaded`: Too many questions at once. Ask again after `Retry-After`.
             */
            503: {
                headers: {
                    /** @description Identifies this request: quote it in a report to the operator. */
                    "X-Request-Id": string;
                    /** @description Seconds to wait before the next request. */
                    "Retry-After": number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem503"];
                };
            };
        };
    };
}
