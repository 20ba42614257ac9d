#pragma once

#include "chat/reply_blocks.h"
#include "host/conversation.h"

#include <QAbstractListModel>
#include <QList>
#include <QVariant>
#include <QtQml/qqmlregistration.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace waste::app {

// A picture in a question.
class SentPicture {
    Q_GADGET
    QML_VALUE_TYPE(sentPicture)
    Q_PROPERTY(QString name MEMBER name CONSTANT FINAL)
    Q_PROPERTY(QString details MEMBER details CONSTANT FINAL) // "640 × 480, 252 positions"
    Q_PROPERTY(QString source MEMBER source CONSTANT FINAL) // for Image

public:
    QString name;
    QString details;
    QString source;
};

// One conversation and the branch of it that is on screen, one row a message. GUI thread only.
class MessageListModel : public QAbstractListModel {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from ChatController.")

public:
    enum class Author { User, Assistant, System, Notice };
    Q_ENUM(Author)
    enum class State { Queued, Reading, Answering, Stopped, Interrupted, Done, Failed };
    Q_ENUM(State)
    enum Role {
        MessageIdRole = Qt::UserRole + 1,
        AuthorRole,
        StateRole,
        PlainTextRole, // what was written, literally; of an answer its Markdown
        PicturesRole, // User: SentPictures
        BlocksRole, // Assistant: a ReplyBlocks; null for the others
        TimeRole, // QDateTime, local
        ModelNameRole, // Assistant
        StatisticsRole, // Assistant, once it ended: "128 tokens · 9.6 tok/s · first word after 0.4 s"
        SiblingIndexRole, // counts from 1
        SiblingCountRole, // 1: no other version
        ErrorTitleRole, // what went wrong, in a few words; empty: nothing
        ErrorTextRole, // why, and what to do
        LastRole, // true for the last row
    };

    explicit MessageListModel(QObject* parent = nullptr);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QHash<int, QByteArray> roleNames() const override;

    [[nodiscard]] const host::Conversation& conversation() const { return m_conversation; }
    void show(host::Conversation conversation); // another one
    host::Conversation take(); // leaves it empty
    // The message becomes the end of the branch.
    void add(host::Message message);
    void removeLast(const std::string& messageId); // which add() added last
    void showBranch(const std::string& leaf); // rows that both branches have stay
    void setTitle(const std::string& title);

    void setState(std::string_view messageId, host::MessageState state, const std::string& reason = {});
    void setTimings(std::string_view messageId, const host::AnswerTimings& timings);
    void append(std::string_view messageId, host::Block::Type type, const std::string& text);
    void appendToolCall(std::string_view messageId, const host::Block& call);
    void setThinkingFigures(std::string_view messageId, std::uint64_t tokens, std::uint64_t ms);

private:
    struct Row {
        std::size_t messageIndex = 0; // in m_conversation
        QString notice; // if not empty, a row of its own in front of that message
        int siblingIndex = 1;
        int siblingCount = 1;
        ReplyBlocks* blocks = nullptr; // built when first asked for; a child of this object
    };
    [[nodiscard]] QList<Row> branchRows() const;
    void replaceRows(const QList<Row>& rows);
    [[nodiscard]] int rowOf(std::string_view messageId) const; // −1: not on screen
    [[nodiscard]] QVariantList picturesOf(const host::Message& message) const;
    [[nodiscard]] const host::Message& messageOf(const Row& row) const;
    ReplyBlocks* blocksOf(int row);
    void reopen(int row);
    void changed(int row, const QList<int>& roles);

    host::Conversation m_conversation;
    QList<Row> m_rows;
};

} // namespace waste::app
