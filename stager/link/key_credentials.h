// Proves identity by a key in a file, where munge is not used.
//
// A credential is the text "STAGEKEY1:" and, in hexadecimal, a salt of 32 random bytes and one
// sealed frame (frame_seal.h) under a key that HKDF derives of file, salt and a label. The
// frame has the maker's time (u64, seconds since the epoch) and the payload. A process that can
// read the file can make and open credentials: a valid one counts as root's.
//
// The rules are munge's: a credential is good for five minutes before and after the reader's
// time, and may be opened again, because the reader's own nonce in it proves that it is fresh.
// The handshake adds role, names and nonces, and an exchange of keys (handshake.h).
#pragma once

#include "stager/link/credentials.h"
#include "stager/link/shared_key.h"

#include <map>
#include <set>
#include <string_view>

namespace stage {

/// How a credential of a key file begins, and one of munge.
inline constexpr std::string_view kKeyPrefix = "STAGEKEY1:";
inline constexpr std::string_view kMungePrefix = "MUNGE:";

/// How far the clocks of maker and reader may be apart.
inline constexpr std::int64_t kCredentialLifetime = 300;  // seconds

class KeyCredentials final : public Credentials {
  public:
    struct Surroundings {
        /// Calls the task soon, never within defer(): Loop::defer.
        std::function<void(std::function<void()>)> defer;
        /// The time of day, in seconds since the epoch.
        std::function<std::int64_t()> clock;
    };

    /// For the daemons of one cluster: every node has this key.
    KeyCredentials(SharedKey key, Surroundings surroundings);
    /// For links between clusters: a key for each other cluster. `peer` below is the cluster's
    /// name, and each direction has a label with both.
    KeyCredentials(const std::string& own_cluster,
                   std::map<std::string, SharedKey> keys,
                   Surroundings surroundings);

    Ticket seal(const std::string& peer, Bytes payload, OnSealed done) override;
    Ticket open(const std::string& peer, std::string credential, OnOpened done) override;
    void cancel(Ticket ticket) override;
    [[nodiscard]] CredentialRemedies remedies(const std::string& peer) const override;

  private:
    /// A key and what is made and opened with it.
    struct Shared {
        SharedKey key;
        std::string seals;
        std::string opens;
    };

    [[nodiscard]] const Shared* shared_with(const std::string& peer) const;
    [[nodiscard]] OpenedCredential opened(const std::string& peer,
                                          const std::string& credential) const;
    template <class Answer>
    Ticket answer(std::function<void(Answer)> done, Answer said);

    std::string own_cluster_;  ///< Empty for daemons of one cluster.
    Surroundings surroundings_;
    std::map<std::string, Shared> by_peer_;  ///< Without a cluster: one entry without a name.
    Ticket last_ticket_ = 0;
    std::set<Ticket> pending_;
};

}  // namespace stage
