// Lets munge make and check the credentials by which daemons prove their identity.
//
// Munge's two calls may block for seconds if munged does not answer. So a question is put here
// and answered later; a Link never waits. MungeClient (munge_client.h) is the real
// implementation; tests use another one, with credentials of any uid or age.
#pragma once

#include "transport/base/result.h"
#include "transport/base/units.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stage {

/// Munge's verdict on a credential. Encoded by number between daemon and helper: append only.
enum class CredentialState : std::uint8_t {
    valid = 0,  ///< Also one that was decoded before: the reader's own nonce in it proves
                ///< freshness.
    expired = 1,
    rewound = 2,  ///< Made in the future, by this node's clock.
    refused = 3,  ///< For another reader, of another key, malformed, ...: see `sentence`.
};

struct OpenedCredential {
    CredentialState state = CredentialState::refused;
    uid_t uid = static_cast<uid_t>(-1);  ///< The maker's. Meaningful unless refused.
    std::int64_t encoded_at = 0;         ///< Seconds since the epoch, by the maker's clock.
    std::int64_t decoded_at = 0;         ///< By this node's clock.
    std::vector<std::byte> payload;
    std::string sentence;  ///< Munge's own message, if not valid.
};

class Credentials {
  public:
    using Ticket = std::uint64_t;  ///< Names a question; 0 names none.
    using OnSealed = std::function<void(Result<std::string>)>;
    using OnOpened = std::function<void(Result<OpenedCredential>)>;

    Credentials() = default;
    Credentials(const Credentials&) = delete;
    Credentials& operator=(const Credentials&) = delete;
    virtual ~Credentials() = default;

    /// Wraps `payload` into a credential that only root can open. `done` is called later, never
    /// within this call; its error says that munge could not be asked.
    virtual Ticket seal(Bytes payload, OnSealed done) = 0;
    /// Opens a peer's credential; `done` is called as for seal().
    virtual Ticket open(std::string credential, OnOpened done) = 0;
    /// The answer is not wanted any more: `done` will not be called. Unknown tickets are
    /// ignored.
    virtual void cancel(Ticket ticket) = 0;
};

}  // namespace stage
