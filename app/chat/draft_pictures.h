#pragma once

#include "host/conversation.h"
#include "host/conversation_keeper.h"
#include "host/engine_host.h"
#include "host/picture_viewer.h"
#include "waste/picture.h"

#include <QAbstractListModel>
#include <QList>
#include <QString>
#include <QUrl>
#include <QtQml/qqmlregistration.h>

#include <functional>
#include <string>
#include <vector>

namespace waste::app {

std::vector<host::Block> picturesOf(const host::Message& message);

// The pictures above the composer: attached and not sent yet, with what each will cost. Files are read,
// checked and kept on the keeper's thread; a picture is on disk before it is shown. GUI thread only.
class DraftPictures : public QAbstractListModel {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from ChatController.")
    Q_PROPERTY(int count READ count NOTIFY changed FINAL)
    Q_PROPERTY(QString error READ error NOTIFY errorChanged FINAL) // why the last one was not taken; empty: it was

public:
    enum Role {
        NameRole = Qt::UserRole + 1,
        SourceRole, // for Image
        DetailsRole, // "640 × 480, 252 positions"
        PriceRole, // "adds about 9 min", "… (estimate)" until it was measured; empty: not known
        HalfRole, // bool: at about half its positions
    };

    DraftPictures(host::ConversationKeeper& keeper, host::EngineHost& engine, host::PictureViewer& viewer,
        QObject* parent = nullptr);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QHash<int, QByteArray> roleNames() const override;
    [[nodiscard]] int count() const { return static_cast<int>(m_pictures.size()); }
    [[nodiscard]] QString error() const { return m_error; }

    Q_INVOKABLE void addFiles(const QList<QUrl>& files);
    Q_INVOKABLE bool addFromClipboard(); // false: no picture there
    Q_INVOKABLE void remove(int row);
    Q_INVOKABLE void setHalf(int row, bool half);

    // The conversation on screen, and what its draft holds.
    void show(const std::string& conversationId, const std::vector<host::Block>& pictures);
    [[nodiscard]] std::vector<host::Block> blocks() const;
    std::vector<host::Block> take(); // to send them
    void setPace(const host::ReadingPace& pace); // of the model that is open
    void inspectAgain(); // another model sees other positions

Q_SIGNALS:
    void changed(); // of what will be sent
    void errorChanged();

private:
    struct Seen { // without positions: not known, or no model is open
        Picture full;
        Picture half;
    };
    struct Added {
        host::Block block;
        Seen seen;
    };
    void add(const QString& name, std::function<Result<std::string>()> read);
    Result<Added> keep(const std::string& conversationId, const std::string& name, const std::string& bytes) const;
    [[nodiscard]] Result<Seen> inspect(const std::string& name, const std::string& bytes) const;
    void inspectLater(const Added& picture);
    void setError(const QString& error);
    [[nodiscard]] static const Picture& seenOf(const Added& picture);
    [[nodiscard]] QString priceOf(const Added& picture) const;

    host::ConversationKeeper& m_keeper;
    host::EngineHost& m_engine;
    host::PictureViewer& m_viewer;
    std::string m_conversationId;
    QList<Added> m_pictures;
    int m_coming = 0; // read by the keeper's thread at this moment
    host::ReadingPace m_pace;
    QString m_error;
};

} // namespace waste::app
