// Holds a core's operations until the driver takes them.
//
// They are kept in one piece of memory that is reused: most operations belong to a packet, and
// some sixty come and go at a time.
#pragma once

#include "transport/core/base/contract.h"

#include <cstddef>
#include <vector>

namespace stage::core {

class OperationQueue {
  public:
    [[nodiscard]] bool empty() const { return first_ == waiting_.size(); }
    [[nodiscard]] std::size_t size() const { return waiting_.size() - first_; }
    /// For how many operations there is memory.
    [[nodiscard]] std::size_t room() const { return waiting_.capacity(); }
    [[nodiscard]] const Operation& front() const { return waiting_[first_]; }
    [[nodiscard]] auto begin() const {
        return waiting_.begin() + static_cast<std::ptrdiff_t>(first_);
    }
    [[nodiscard]] auto end() const { return waiting_.end(); }

    void push_back(const Operation& operation) { waiting_.push_back(operation); }
    /// Ends the lease of a datagram.
    void push_drop(Ticket lease) {
        Operation drop;
        drop.ticket = lease;
        push_back(drop);
    }
    /// Asks for the final names, once.
    void push_finish(Ticket ticket) {
        Operation finish;
        finish.kind = OperationKind::finish;
        finish.ticket = ticket;
        push_back(finish);
    }
    /// Makes a connection, or closes it.
    void push_link(OperationKind kind, const Destination& connection) {
        Operation link;
        link.kind = kind;
        link.peer = connection.peer;
        link.flow = connection.flow;
        push_back(link);
    }

    /// Takes the first operation. Memory of taken ones is reused when all are taken, or most.
    [[nodiscard]] Operation pop_front() {
        const Operation taken = waiting_[first_];
        ++first_;
        if (empty()) {
            clear();
        } else if (first_ > size()) {
            waiting_.erase(waiting_.begin(), begin());
            first_ = 0;
        }
        return taken;
    }

    void clear() {
        waiting_.clear();
        first_ = 0;
    }

  private:
    std::vector<Operation> waiting_;
    std::size_t first_ = 0;
};

}  // namespace stage::core
