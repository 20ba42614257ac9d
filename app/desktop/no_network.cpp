#include "desktop/no_network.h"

#include <QNetworkRequest>

namespace waste::app {

namespace {

class RefusingManager : public QNetworkAccessManager {
public:
    using QNetworkAccessManager::QNetworkAccessManager;

protected:
    // A request without an address fails by itself, in the way that callers expect.
    QNetworkReply* createRequest(Operation operation, const QNetworkRequest&, QIODevice* data) override
    {
        return QNetworkAccessManager::createRequest(operation, QNetworkRequest(), data);
    }
};

} // namespace

QNetworkAccessManager* NoNetwork::create(QObject* parent)
{
    return new RefusingManager(parent);
}

} // namespace waste::app
