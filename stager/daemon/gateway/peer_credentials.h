// Chooses how a link's ends prove themselves: nodes of this cluster by its own credentials,
// daemons of other clusters (cluster_name.h) by the key with their cluster.
#pragma once

#include "stager/link/cluster_name.h"
#include "stager/link/key_credentials.h"

#include <memory>
#include <string>
#include <utility>

namespace stage {

class PeerCredentials final : public Credentials {
  public:
    /// `nodes` outlives the object. `clusters`: none without a ClusterName=, and then no link
    /// is another cluster's (handshake.h).
    PeerCredentials(Credentials& nodes, std::unique_ptr<KeyCredentials> clusters)
        : nodes_{nodes}, clusters_{std::move(clusters)} {}

    Ticket seal(const std::string& peer, Bytes payload, OnSealed done) override {
        return is_foreign(peer)
                   ? odd(clusters_->seal(cluster_of(peer), payload, std::move(done)))
                   : even(nodes_.seal(peer, payload, std::move(done)));
    }
    Ticket open(const std::string& peer, std::string credential, OnOpened done) override {
        return is_foreign(peer)
                   ? odd(clusters_->open(
                         cluster_of(peer), std::move(credential), std::move(done)))
                   : even(nodes_.open(peer, std::move(credential), std::move(done)));
    }
    void cancel(Ticket ticket) override {
        Credentials& asked = ticket % 2 == 1 ? static_cast<Credentials&>(*clusters_) : nodes_;
        asked.cancel(ticket / 2);
    }
    [[nodiscard]] CredentialRemedies remedies(const std::string& peer) const override {
        return is_foreign(peer) ? clusters_->remedies(cluster_of(peer)) : nodes_.remedies(peer);
    }

  private:
    [[nodiscard]] bool is_foreign(const std::string& peer) const {
        return clusters_ && is_of_cluster(peer);
    }
    static Ticket even(Ticket ticket) { return 2 * ticket; }
    static Ticket odd(Ticket ticket) { return 2 * ticket + 1; }

    Credentials& nodes_;
    std::unique_ptr<KeyCredentials> clusters_;
};

}  // namespace stage
